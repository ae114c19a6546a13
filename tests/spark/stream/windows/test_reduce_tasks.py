"""In how many tasks partial results of a small batch are merged."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.frames import session_setting
from trimtab.histogram import Histogram
from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.reduce_tasks import (
    LEAST_BYTES,
    LEAST_ROWS,
    MOST_ROWS,
    SETTING,
    UNSET,
    allow_small_tasks,
    tasks_for,
)
from trimtab.spark.stream.windows.segments import Segment

WINDOWS = Windows(60, 10, 0)


def known(rows: float, distinct: int) -> Histogram:
    return Histogram.from_counts({}, total=rows, distinct=distinct)


def test_a_task_for_every_slot_where_there_is_enough_for_each_and_not_too_much() -> None:
    one_pane = [Segment("a", 0, 0)]
    found = {
        keys: tasks_for(one_pane, known(1e9, keys), WINDOWS, 4)
        for keys in (4 * LEAST_ROWS - 1, 4 * LEAST_ROWS, 4 * MOST_ROWS, 4 * MOST_ROWS + 1)
    }
    assert list(found.values()) == [None, 4, 4, None]


def test_partial_results_are_keys_times_panes_and_no_more_than_rows() -> None:
    five_panes = [Segment("a", 0, 40)]
    assert tasks_for(five_panes, known(1e9, LEAST_ROWS), WINDOWS, 5) == 5
    assert tasks_for(five_panes, known(1e9, LEAST_ROWS), WINDOWS, 6) is None
    assert tasks_for(five_panes, known(2.0 * LEAST_ROWS, LEAST_ROWS), WINDOWS, 3) is None


def test_segments_count_as_often_as_they_hold_batches() -> None:
    segments = [Segment("a", 0, 150, batches=16), Segment("b", 160, 160)]
    assert tasks_for(segments, known(1e9, LEAST_ROWS), WINDOWS, 17) == 17
    assert tasks_for(segments, known(1e9, LEAST_ROWS), WINDOWS, 18) is None


def test_without_a_batch_before_spark_chooses() -> None:
    assert tasks_for([], known(1e6, 100_000), WINDOWS, 2) is None
    assert tasks_for([Segment("a", 0, 0)], None, WINDOWS, 2) is None


@pytest.mark.spark
def test_a_session_allows_small_tasks_unless_its_user_has_said_otherwise(
    spark: SparkSession,
) -> None:
    of_query = spark.newSession()
    allow_small_tasks(of_query)
    assert of_query.conf.get(SETTING) == str(LEAST_BYTES)
    assert spark.conf.get(SETTING, UNSET) == UNSET
    with session_setting(of_query, SETTING, "4m"):
        allow_small_tasks(of_query)
        assert of_query.conf.get(SETTING) == "4m"


@pytest.mark.spark
def test_some_ten_thousand_keys_are_worth_a_task(spark: SparkSession) -> None:
    of_query = spark.newSession()

    def tasks() -> int:
        counted = of_query.range(100_000).selectExpr("xxhash64(id) AS k").groupBy("k").count()
        return int(counted.selectExpr("spark_partition_id() AS p").distinct().count())

    assert tasks() == 1
    allow_small_tasks(of_query)
    assert tasks() == 2
