"""Whether to act at all: every way of deciding, and Spark's own plan where acting cannot win."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from tests.spark.frames import layouts
from trimtab.control.machines import Machines
from trimtab.histogram import Histogram
from trimtab.spark.batch import decision
from trimtab.spark.batch.decision import HASH, PLAN, SPARK, decide_function, decide_write, makespan
from trimtab.spark.batch.group import group_by
from trimtab.spark.columns import key_columns
from trimtab.spark.counting.first_rows import FirstRows
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.pilot import FunctionCost
from trimtab.spark.groups.user_functions import PANDAS
from trimtab.spark.session_facts import cores_of, slots_of
from trimtab.spark.spark_text import physical_plan, plan_facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 20_000


def first(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.head(1)


def look_of(ids: Any) -> FirstRows:
    return FirstRows(np.asarray(ids, dtype=np.uint64), 1e6, whole=False)


@pytest.mark.parametrize(
    ("loads", "slots", "ends"),
    [
        pytest.param([1, 1, 1, 1], 2, 2, id="level lanes"),
        pytest.param([4, 1, 1, 1], 2, 4, id="a full lane that starts first"),
        pytest.param([1, 1, 1, 4], 2, 5, id="a full lane that starts last"),
    ],
)
def test_tasks_end_as_slots_get_free(loads: list[float], slots: int, ends: float) -> None:
    assert makespan(np.array(loads, dtype=np.float64), slots) == ends


def test_level_keys_do_not_look_lopsided() -> None:
    level = look_of(np.random.default_rng(1).integers(0, 1 << 60, 4096))
    hot = look_of(np.where(np.arange(4096) % 3 == 0, 7, np.arange(4096)))
    assert decision.lopsided(level, 32, 16) < 1.3
    assert decision.lopsided(hot, 32, 16) > 4


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> dict[str, DataFrame]:
    made = {"hot": "if(id % 5 < 3, 0, id)", "level": "id"}
    return {
        name: spark.range(0, ROWS, numPartitions=2).selectExpr(f"{key} AS key", "id AS x")
        for name, key in made.items()
    }


@pytest.mark.spark
@pytest.mark.both
@pytest.mark.parametrize(
    ("keys", "waits", "way", "words"),
    [
        pytest.param("level", 1e-6, HASH, "from 1 s on", id="cheap work is not looked at"),
        pytest.param("hot", 16 / ROWS, PLAN, "to save", id="two seconds on eight slots are"),
        pytest.param("level", 0.002, HASH, "to save, and a", id="level keys are not planned for"),
        pytest.param("hot", 0.01, PLAN, "to save", id="a costly function of hot keys is planned"),
        pytest.param("hot", None, HASH, "could not be told", id="nothing is known of the cost"),
    ],
)
def test_functions(
    frames: dict[str, DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    keys: str,
    waits: float | None,
    way: str,
    words: str,
) -> None:
    cost = None if waits is None else FunctionCost(waits, 0.0)
    monkeypatch.setattr(decision, "pilot", lambda *_: cost)
    # On two slots a key with 60 % of the rows is a fifth more than its share.
    monkeypatch.setattr(decision, "slots_of", lambda _: 8)
    keyed = KeyedFrame.by(frames[keys].where("key >= 0 OR x = 1"), ["key"])
    monkeypatch.setattr(decision, "frame_rows", lambda _: float(ROWS))
    if keys == "hot":
        # Six keys with a tenth each: no lane must have more than its share, and by hash one has.
        text = "if(id % 10 < 6, 16 * (id % 10), id) AS key"
        keyed = KeyedFrame.by(frames[keys].sparkSession.range(ROWS).selectExpr(text), ["key"])
        monkeypatch.setattr(decision, "lopsided", lambda *_: 2.5)
    found = decide_function(keyed, PANDAS, first, may_pilot=True)
    assert (found.way, words in str(found)) == (way, True), str(found)


@pytest.mark.spark
@pytest.mark.both
def test_a_key_of_more_than_a_slot_pays_only_if_it_may_be_split(
    frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision, "pilot", lambda *_: FunctionCost(0.0013, 0.0))
    # Whole keys save a second here, and splitting saves thirteen.
    monkeypatch.setattr(decision, "COUNT_SECONDS", (1.0, 0.0))
    monkeypatch.setattr(decision, "PLAN_SECONDS", 1.0)
    monkeypatch.setattr(decision, "slots_of", lambda _: 8)
    keyed = KeyedFrame.by(frames["hot"], ["key"])
    whole, cut = (
        decide_function(keyed, PANDAS, first, may_pilot=True, may_split=split)
        for split in (False, True)
    )
    assert (whole.way, cut.way) == (HASH, PLAN), str(whole)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("key", "split", "way", "words"),
    [
        pytest.param("id", False, HASH, "at best 1.00 times", id="level keys go by hash"),
        pytest.param(
            "if(id % 10 < 6, 16 * (id % 10), id)", False, PLAN, "all 5,000 rows", id="met"
        ),
        pytest.param(
            "if(id % 5 < 3, 0, id)", False, HASH, "at best 4.8", id="one key sets the time"
        ),
        pytest.param("if(id % 5 < 3, 0, id)", True, PLAN, "at best 1.00", id="it may be split"),
    ],
)
def test_few_rows_are_all_looked_at_and_no_function_is_tried(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    split: bool,
    way: str,
    words: str,
) -> None:
    monkeypatch.setattr(decision, "pilot", None)
    monkeypatch.setattr(decision, "slots_of", lambda _: 8)
    df = spark.range(0, 5000, numPartitions=2).selectExpr(f"{key} AS key", "id AS x")
    keyed = KeyedFrame.by(df, ["key"])
    found = decide_function(keyed, PANDAS, first, may_pilot=True, may_split=split)
    assert (found.way, words in str(found)) == (way, True), str(found)
    assert (found.heads is not None) == (way == PLAN)


@pytest.mark.spark
def test_a_look_that_fails_is_not_told(spark: SparkSession) -> None:
    df = spark.range(0, 100, numPartitions=2).selectExpr(
        "if(id < 0, id, cast(raise_error('no key') AS long)) AS key", "id AS x"
    )
    found = decide_function(KeyedFrame.by(df, ["key"]), PANDAS, first, may_pilot=True)
    assert (found.way, "could not be told" in str(found)) == (HASH, True)


@pytest.mark.spark
@pytest.mark.both
def test_what_is_costly_to_make_is_not_looked_at(frames: dict[str, DataFrame]) -> None:
    made = frames["hot"].groupBy("key").count()
    found = decide_function(KeyedFrame.by(made, ["key"]), PANDAS, first, may_pilot=True)
    assert found.way == HASH
    assert "cache it" in str(found)
    unknown = decide_function(KeyedFrame.by(made, ["key"]), PANDAS, first, may_pilot=False)
    assert "pilot=False" in str(unknown)


@pytest.mark.spark
@pytest.mark.both
def test_writes(frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    keys = key_columns(frames["hot"], "key")
    assert decide_write(frames["hot"], keys).way == SPARK
    monkeypatch.setattr(decision, "LONG", 0.0)
    monkeypatch.setattr(decision, "ROW_SECONDS", 0.01)
    monkeypatch.setattr(decision, "slots_of", lambda _: 8)
    monkeypatch.setattr(decision, "cores_of", lambda _: 8)
    assert decide_write(frames["hot"], keys).way == PLAN
    assert decide_write(frames["level"], keys).way == SPARK


@pytest.mark.spark
def test_lanes_follow_slots_and_bytes(
    spark: SparkSession, frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests of this session have measured its machine.
    monkeypatch.setattr(decision, "machines_of", lambda _: Machines())
    assert decision.default_lanes(frames["hot"]) == slots_of(spark) == 2
    assert decision.default_lanes(frames["hot"], per_slot=2) == 4
    assert cores_of(spark) <= 2
    monkeypatch.setattr(decision, "LANE_BYTES", 32_000.0)
    size = plan_facts(frames["hot"]).bytes
    assert size is not None
    assert decision.default_lanes(frames["hot"]) == math.ceil(size / 32_000) > 2


@pytest.mark.spark
@pytest.mark.both
def test_aggregates_without_a_partitioner_are_sparks_own_plan(frames: dict[str, DataFrame]) -> None:
    df = frames["hot"]
    for written in ("sum(x)", "count(DISTINCT x)", "collect_list(x)", "percentile(x, 0.5)"):
        ours = group_by(df, "key").agg(F.expr(written))
        theirs = df.groupBy("key").agg(F.expr(written))
        assert layouts(ours) == 0
        assert ours.sameSemantics(theirs)
        assert "Spark's own aggregation" in group_by(df, "key").explain(F.expr(written))


@pytest.mark.spark
@pytest.mark.both
def test_a_histogram_is_used_and_nothing_is_counted(frames: dict[str, DataFrame]) -> None:
    known = Histogram.from_counts({1: 5.0, 2: 5.0}, total=20.0)
    told = group_by(frames["hot"], "key", histogram=known).explain()
    assert "lanes, a plan, a histogram or count= was given" in told
    assert "REPARTITION" in physical_plan(
        group_by(frames["hot"], "key", histogram=known).applyInPandas(first, "key long, x long")
    )
