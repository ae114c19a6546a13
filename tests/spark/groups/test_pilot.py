"""A pilot tells functions that wait, that compute and that are cheap; it never fails a job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from trimtab.spark.groups import pilot as pilots
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.pilot import FunctionCost, _measured, _per_row, pilot
from trimtab.spark.groups.user_functions import ARROW, PANDAS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def waits(rows: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.001 * len(rows))
    return rows


def computes(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
    end = time.process_time() + 0.001 * rows.num_rows
    while time.process_time() < end:
        pass
    return rows


def fails(rows: pd.DataFrame) -> pd.DataFrame:
    raise ValueError("a group in part")


def refuses_what_is_not_its_own(rows: pd.DataFrame) -> pd.DataFrame:
    assert rows.columns.tolist() == ["user", "x"]
    time.sleep(0.001 * len(rows))
    return rows


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    # Groups of 1, 2, 3 ... rows.
    return spark.range(0, 5000, numPartitions=2).selectExpr(
        "cast(sqrt(2 * id) AS int) AS user", "id AS x"
    )


def test_a_row_is_told_from_a_call() -> None:
    rows = np.array([1.0, 2.0, 4.0, 8.0])
    assert _per_row(rows, 0.5 + 0.01 * rows) == pytest.approx(0.01)
    assert _per_row(rows, np.array([0.3, 0.1, 0.4, 0.2])) == 0.0
    assert _per_row(np.array([2.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0])) == 0.0


def test_a_call_that_was_held_up_hides_no_cost() -> None:
    rows = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 4.0, 1.0, 3.0, 2.0, 1.0])
    seconds = 0.0002 + 0.001 * rows
    seconds[3] += 0.02
    # A line of least squares falls here: -1.0 ms per row.
    assert _per_row(rows, seconds) == pytest.approx(0.001)


def test_many_calls_of_one_size_that_were_held_up_hide_no_cost() -> None:
    rows = np.array([1.0] * 30 + [2.0] * 4 + [3.0])
    seconds = 0.0001 + 0.001 * rows
    # Two thirds of the single rows wait for a processor, as in a job that begins while another
    # one ends: the lower quartile of slopes between all pairs of calls is below zero.
    seconds[:20] += 0.003
    assert _per_row(rows, seconds) == pytest.approx(0.001)


def test_who_waits_needs_no_processor() -> None:
    assert FunctionCost(0.001, 0.0).seconds(8000, slots=16, cores=2) == 0.5
    assert FunctionCost(0.0, 0.001).seconds(8000, slots=16, cores=2) == 4.0


class Clock:
    """A clock that goes on only where it is told to."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def perf_counter(self) -> float:
        return self.wall

    def process_time(self) -> float:
        return self.cpu


def test_costs_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(pilots, "time", clock)

    def waits_a_while_and_computes(rows: pd.DataFrame) -> pd.DataFrame:
        clock.wall += 0.0004 + 0.0012 * len(rows)
        clock.cpu += 0.0001 + 0.0002 * len(rows)
        return rows

    measure = _measured(waits_a_while_and_computes, PANDAS, [])
    groups = [pd.DataFrame({"x": range(n)}) for n in (3, 1, 2, 3, 4, 5, 6, 30, 7)]
    found = pd.concat([measure((n,), rows) for n, rows in enumerate(groups)])
    # The first call is not counted, and the last not made: the pilot's time is over.
    assert found["rows"].tolist() == [1, 2, 3, 4, 5, 6, 30]
    counts = found["rows"].to_numpy(np.float64)
    assert _per_row(counts, found["wall"].to_numpy()) == pytest.approx(0.0012)
    assert _per_row(counts, found["cpu"].to_numpy()) == pytest.approx(0.0002)


@pytest.mark.spark
@pytest.mark.both
def test_functions_are_tried_as_they_are_called(clicks: DataFrame) -> None:
    keyed = KeyedFrame.by(clicks, ["user"])
    waiting, busy = pilot(keyed, PANDAS, waits), pilot(keyed, ARROW, computes)
    assert waiting is not None
    assert busy is not None
    by_expression = KeyedFrame.by(clicks, [F.col("user") % 7])
    hidden = pilot(by_expression, PANDAS, refuses_what_is_not_its_own)
    assert hidden is not None


@pytest.mark.spark
@pytest.mark.both
def test_a_function_that_fails_on_a_part_is_not_told(clicks: DataFrame) -> None:
    assert pilot(KeyedFrame.by(clicks, ["user"]), PANDAS, fails) is None
    assert pilot(KeyedFrame.by(clicks.where("user < 0"), ["user"]), PANDAS, waits) is None
