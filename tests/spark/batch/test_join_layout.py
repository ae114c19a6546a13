"""One side of a join on its lanes: which rows are copied, and which copies come out alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pyspark.sql import functions as F

from tests.spark.frames import layouts, rows
from trimtab import Histogram, Plan, hash_keys
from trimtab.spark import join
from trimtab.spark.batch import join as join_module
from trimtab.spark.batch.join_keys import JoinKeys
from trimtab.spark.batch.join_layout import laid_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


def frame(spark: SparkSession, keys: list[Any], value: str) -> DataFrame:
    data = [(key, i) for i, key in enumerate(keys)]
    return spark.createDataFrame(data, f"k string, {value} int").repartition(3)


def test_copied_keys_are_on_all_of_their_lanes_and_no_other_key_is(spark: SparkSession) -> None:
    hot = int(hash_keys(["hot"])[0])
    plan = Plan(4, {hot: [(0, 0.5), (2, 0.3), (3, 0.2)]})
    df = frame(spark, ["hot"] * 5 + [None] * 40 + ["a", "b"], "x")
    keys = JoinKeys.by_name(df, df, ["k"]).left
    placed = laid_out(df, keys, plan, np.array([hot], dtype=np.uint64), "lane", "mark").select(
        "*", F.spark_partition_id().alias("at")
    )
    found = placed.collect()
    assert all(row["lane"] == row["at"] for row in found)
    lanes = Counter((row["k"], row["lane"]) for row in found)
    assert {lane: n for (key, lane), n in lanes.items() if key == "hot"} == {0: 5, 2: 5, 3: 5}
    # Rows without a key match nothing: they are spread, and no one waits for them.
    assert len({lane for key, lane in lanes if key is None}) > 1
    assert Counter(row["k"] for row in found) == {"hot": 15, None: 40, "a": 1, "b": 1}
    marks = {(row["mark"]["number"], row["mark"]["key"]) for row in found if row["k"] == "hot"}
    assert {number for number, _ in marks} == {0, 1, 2}
    assert all(row["mark"]["key"] is None for row in found if row["k"] != "hot")


@pytest.mark.parametrize(
    ("by_name", "divided", "left_over"),
    [
        pytest.param(True, "left", 0, id="by name, from the left"),
        pytest.param(False, "right", 0, id="by condition, from the right"),
        pytest.param(True, "right", 1, id="all its rows but one"),
    ],
)
def test_a_full_join_keeps_rows_whose_key_has_left_the_other_side(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    by_name: bool,
    divided: str,
    left_over: int,
) -> None:
    hot = frame(spark, ["H"] * 300 + ["B"] * 40 + [None] * 20 + [f"k{i}" for i in range(40)], "a")
    few = frame(spark, ["H"] * 3 + ["B"] * 40 + [None] * 5 + [f"k{i}" for i in range(20, 60)], "b")
    now = hot.where("k != 'H' or k is null or a < 0").union(
        hot.where("k = 'H'").orderBy("a").limit(left_over)
    )
    count = join_module._known_keys

    def counted_before(df: DataFrame, keys: Any, lanes: int) -> Histogram:
        return count(hot if "a" in df.columns else few, keys, lanes)

    monkeypatch.setattr(join_module, "_known_keys", counted_before)
    left, right = (now, few) if divided == "left" else (few, now)
    on: Any = "k" if by_name else left.k == right.k
    ours = join(left, right, on, "full", lanes=6, level_enough=1.0)
    assert layouts(ours) == 2
    assert rows(ours) == rows(left.join(right, on, "full"))
