"""Plans and histograms in files: the same lanes next time, refused or renewed where unfit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram
from trimtab.spark.batch.group import group_by
from trimtab.spark.batch.join import explain_join, join
from trimtab.spark.batch.key_plan import KeyPlan, PlanOutdated, known_plan, plan_keys
from trimtab.spark.batch.repartition import repartition
from trimtab.spark.batch.write import write_balanced
from trimtab.spark.columns import key_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

LANES = 8


def day(spark: SparkSession, hot: int) -> DataFrame:
    """Return clicks of a day on which four users, from number `hot` on, have a tenth each."""
    key = f"if(id % 10 < 4, {hot} + id % 10, 100 + id)"
    return spark.range(0, 3000, numPartitions=2).selectExpr(f"{key} AS user", "id AS x")


@pytest.fixture(scope="module")
def monday(spark: SparkSession) -> DataFrame:
    return day(spark, 0)


@pytest.fixture(scope="module")
def kept(monday: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "users.json"
    plan_keys(monday, "user", LANES).save(path)
    return path


def loads(df: DataFrame) -> list[int]:
    rows = df.groupBy(F.spark_partition_id()).count().collect()
    return sorted(row["count"] for row in rows)


def test_a_saved_plan_is_the_same_plan(monday: DataFrame, kept: Path) -> None:
    again, made = KeyPlan.read(kept), plan_keys(monday, "user", LANES)
    assert again.plan == made.plan
    assert again.key == (("user", "bigint"),)
    assert again.expected == made.expected < 1.1


def test_every_operator_takes_it_and_counts_nothing(
    monday: DataFrame, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = plan_keys(monday, "user", LANES, split=True)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the keys were counted")

    monkeypatch.setattr("trimtab.spark.routing.route.count_frame", refused)
    assert max(loads(repartition(monday, LANES, "user", plan=kept))) < 1.1 * 3000 / LANES

    def size(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"user": rows["user"].iloc[:1], "n": [len(rows)]})

    found = group_by(monday, "user", plan=kept).applyInPandas(size, "user long, n long")
    assert not isinstance(found, tuple)
    theirs = monday.groupBy("user").count()
    assert sorted(map(tuple, found.collect())) == sorted(map(tuple, theirs.collect()))
    paired = group_by(monday, "user", plan=kept).cogroup(group_by(monday, "user", plan=kept))
    assert "8 lanes" in paired.explain()
    lands = monday.selectExpr("least(user, 20) AS land", "x")
    by_land = KeyPlan((("land", "bigint"),), split.plan, split.histogram)
    route = write_balanced(lands, str(tmp_path / "lands"), "land", plan=by_land.plan)
    assert route.lanes == LANES


def test_a_plan_that_no_longer_fits_is_made_anew(
    spark: SparkSession, monday: DataFrame, kept: Path
) -> None:
    with warnings.catch_warnings(action="error"):
        known_plan(kept, monday, key_columns(monday, "user"))
    # All four hot users of this day are on one lane by the plan for the other.
    plan = KeyPlan.read(kept).plan
    ids = spark.range(50_000, 51_000).select("id", F.xxhash64("id").alias("h")).collect()
    lanes = plan.route(np.array([row.h for row in ids], dtype=np.int64).view(np.uint64))
    together = [row.id for row, lane in zip(ids, lanes, strict=True) if lane == 3][:4]
    named = f"element_at(array({', '.join(map(str, together))}), cast(id % 10 AS int) + 1)"
    tuesday = spark.range(0, 3000, numPartitions=2).selectExpr(
        f"if(id % 10 < 4, {named}, 100 + id) AS user", "id AS x"
    )
    with pytest.warns(PlanOutdated, match="times as lopsided as expected"):
        level = repartition(tuesday, LANES, "user", plan=kept)
    assert max(loads(level)) < 1.1 * 3000 / LANES


def test_joins_take_histograms_of_both_sides(
    monday: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = monday.groupBy("user").agg(F.max("x").alias("y"))
    left = plan_keys(monday, "user", 4).histogram
    left.save(tmp_path / "left.json")
    right = Histogram.from_counts({}, total=1804.0, distinct=1804)
    monkeypatch.setattr("trimtab.spark.batch.join.count_frame", None)
    ours = join(monday, names, "user", histogram=(tmp_path / "left.json", right), level_enough=1)
    assert sorted(map(tuple, ours.collect())) == sorted(
        map(tuple, monday.join(names, "user").collect())
    )
    assert "max/mean" in explain_join(monday, names, "user", histogram=(left, right))
    with pytest.raises(InvalidArgument, match="two histograms"):
        join(monday, names, "user", histogram=left)  # type: ignore[arg-type]


def test_joins_take_a_plan_of_the_left_side(
    monday: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of another type than on the left, as Spark would compare them too, and not all users.
    named = monday.where("user > 1").groupBy("user").agg(F.max("x").alias("y"))
    names = named.selectExpr("cast(user AS int) AS user", "y")
    split = plan_keys(monday, "user", 4 * LANES, split=True)
    assert split.plan.splits_keys
    split.save(tmp_path / "split.json")
    monkeypatch.setattr("trimtab.spark.batch.join.count_frame", None)
    for how in ("inner", "left", "full", "anti"):
        ours = join(monday, names, "user", how, plan=tmp_path / "split.json")
        theirs = monday.join(names, "user", how)
        assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))
    # Whole, each of the four hot users has a tenth of the rows.
    assert max(loads(join(monday, names, "user", "left", plan=split))) < 0.05 * 3000
    assert "32 lanes" in explain_join(monday, names, "user", plan=split)
    with pytest.raises(InvalidArgument, match="cannot divide rows of its left side"):
        join(monday, names, "user", "right", plan=split)
    with pytest.raises(InvalidArgument, match="leave lanes and histogram out"):
        join(monday, names, "user", plan=split, lanes=4)


def test_mistakes_are_one_sentence(monday: DataFrame, kept: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.json"
    damaged.write_text("{")
    with pytest.raises(CorruptState, match=r"damaged\.json is damaged"):
        group_by(monday, "user", plan=damaged)
    with pytest.raises(InvalidArgument, match="no plan can be read from"):
        group_by(monday, "user", plan=tmp_path / "none.json")
    with pytest.raises(InvalidArgument, match="no histogram can be read from"):
        group_by(monday, "user", histogram=tmp_path / "none.json")
    with pytest.raises(InvalidArgument, match="keys of type bigint"):
        group_by(monday.selectExpr("cast(user AS string) AS user"), "user", plan=kept)
    with pytest.raises(InvalidArgument, match="leave partitioner"):
        group_by(monday, "user", plan=kept, partitioner="trim")
    with pytest.raises(InvalidArgument, match="leave partitioner and parameters out"):
        repartition(monday, LANES, "user", "kip", plan=kept)
    with pytest.raises(InvalidArgument, match="plan must be"):
        group_by(monday, "user", plan=7)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="makes no plan"):
        plan_keys(monday, "user", LANES, "hash")
