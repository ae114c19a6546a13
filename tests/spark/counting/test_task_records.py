"""Spark's own records of tasks, as the times of lanes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark import TaskContext

import trimtab.spark as tt
from trimtab.spark.counting.task_records import AT_ONCE, TaskRecords, in_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from trimtab.spark.stream.api import Stream

pytestmark = pytest.mark.spark


def sleeping(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        time.sleep(0.001 * len(frame))
        yield frame


def test_the_longest_stage_of_new_jobs_is_read(spark: SparkSession) -> None:
    context = spark.sparkContext
    records = TaskRecords()
    context.setJobGroup("lanes", "a test of records")
    try:
        rows = spark.range(0, 90, 1, 2).selectExpr("id", "cast(id % 3 % 2 as int) as lane")
        on_lanes = rows.repartitionById(3, "lane")
        on_lanes.write.format("noop").mode("overwrite").save()
        on_lanes.mapInPandas(sleeping, on_lanes.schema).write.format("noop").mode(
            "overwrite"
        ).save()
        times = records.read(spark, 3)
        assert times is not None
        assert times.rows.tolist() == [60, 30, 0]
        assert times.seconds[0] > 0.06
        assert all(name.endswith("/driver") for name in times.executors)
        assert records.read(spark, 3) is None
        on_lanes.count()
        assert records.read(spark, 17) is None
    finally:
        context._jsc.sc().clearJobGroup()


def test_each_batch_says_how_long_its_lanes_took(
    begin: Callable[..., Stream],
) -> None:
    def hold_up(rows: DataFrame, batch: Any) -> None:
        rows.mapInPandas(sleeping, rows.schema).write.format("noop").mode("overwrite").save()

    query = begin().for_each_batch(hold_up)
    query.start(trigger={"availableNow": True}).awaitTermination()
    event = query.progress()
    assert event is not None
    assert len(event["lane_seconds"]) == len(event["loads"]) == 3
    for took, load in zip(event["lane_seconds"], event["loads"], strict=True):
        assert took >= 0.001 * load
    (executor,) = event["executors"]
    assert executor["executor"].endswith("/driver")
    assert (executor["lanes"], executor["slowness"]) == (3, 1.0)


@pytest.mark.exhaustive
def test_cg_takes_virtual_workers_from_a_lane_that_takes_long(
    begin: Callable[..., Stream], tmp_path: Path
) -> None:
    def slow_on_lane_0(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        for frame in frames:
            slow = context is not None and context.partitionId() == 0
            time.sleep((0.004 if slow else 0.001) * len(frame))
            yield frame

    def hold_up(rows: DataFrame, batch: Any) -> None:
        rows.mapInPandas(slow_on_lane_0, rows.schema).write.format("noop").mode("overwrite").save()

    place = str(tmp_path / "ck")
    query = begin(partitioner="cg", checkpoint=place).for_each_batch(hold_up)
    query.start(trigger={"availableNow": True}).awaitTermination()
    event = query.progress()
    assert event is not None
    workers = event["delegation"]["virtual_workers"]
    assert sum(workers) == 30
    assert workers[0] < 10
    # Later batches are level, and then any lane may be the last.
    first = tt.events(place)[0]
    assert first["stragglers"][0]["lane"] == 0


@pytest.mark.parametrize("length", [0, 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE, 99 * AT_ONCE])
def test_a_text_comes_whole_whatever_its_length(length: int) -> None:
    text, asked = "0123456789" * (length // 10) + "x" * (length % 10), []

    class Buffer:
        def length(self) -> int:
            return len(text)

        def substring(self, start: int, end: int) -> str:
            asked.append(end - start)
            return text[start:end]

        def toString(self) -> str:  # noqa: N802
            return text

    assert in_pieces(Buffer()) == text
    assert max(asked, default=0) <= AT_ONCE
