"""When lanes were worked on and where: noted inside tasks, seen by the driver."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from trimtab.spark.counting.lane_clock import LaneClock, TaskClock, executor_here, lane_times
from trimtab.spark.groups.one_pass import apply_per_group

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_note_says_when_and_where() -> None:
    clock = TaskClock()
    time.sleep(0.01)
    note = clock.note(7, 3)
    assert (note["lane"], note["rows"]) == (3, 7)
    assert 0.01 <= note["ended"] - note["started"] < 5
    # These tests run in no executor.
    assert note["executor"] == executor_here() == f"{os.uname().nodename}/driver"


def test_notes_become_lane_times() -> None:
    notes = [
        {"lane": 2, "rows": 5, "started": 1.0, "ended": 3.0, "executor": "a/0"},
        {"lane": 0, "rows": 4, "started": 1.0, "ended": 2.0, "executor": "b/1"},
    ]
    times = lane_times(notes, lanes=4)
    assert times is not None
    assert times.executors == ("b/1", "", "a/0", "")
    assert times.rows.tolist() == [4, 0, 5, 0]
    assert times.seconds[[0, 2]].tolist() == [1.0, 2.0]
    counted = lane_times(notes, rows=np.array([8.0, 0.0, 9.0]))
    assert counted is not None
    assert counted.rows.tolist() == [8, 0, 9]
    assert lane_times([]) is None


@pytest.mark.spark
@pytest.mark.both
def test_a_function_of_groups_tells_its_lanes_times(spark: SparkSession) -> None:
    rows = spark.range(0, 60, 1, 1).selectExpr("id", "cast(id % 3 as int) as lane")
    clock = LaneClock()
    assert clock.read(4) is None

    def slow_on_one(group: pd.DataFrame) -> pd.DataFrame:
        time.sleep(0.02 if group["lane"].iloc[0] == 1 else 0.0)
        return group

    on_lanes = rows.repartitionById(4, "lane")
    result = apply_per_group(on_lanes, ["id"], [], slow_on_one, rows.schema, clock)
    unclocked = apply_per_group(on_lanes, ["id"], [], slow_on_one, rows.schema)
    assert result.schema == unclocked.schema
    assert sorted(map(tuple, result.collect())) == sorted(map(tuple, rows.collect()))
    times = clock.read(4)
    assert times is not None
    assert times.rows.tolist() == [20, 20, 20, 0]
    assert times.measured.tolist() == [True, True, True, False]
    assert times.seconds[1] > 20 * 0.02
    # The same rows may be used twice in one query.
    assert result.union(result).count() == 120
    assert result.join(result, "id").count() == 60
