"""Sums of doubles that slide: against exact sums of every window's rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.spark.stream.windows.aggregates import read_aggregates
from trimtab.spark.stream.windows.combining import PaneColumns
from trimtab.spark.stream.windows.exact_sums import Rests
from trimtab.spark.stream.windows.merging import Gathering, closed_windows
from trimtab.spark.stream.windows.panes import Windows

pytestmark = pytest.mark.spark

PANES, PER_WINDOW = 400, 60
WINDOWS = Windows(PER_WINDOW, 1, 0)
SCHEMA = "k long, ts timestamp, pane long, x double, y float"
KEYS = ("k0",)
BOUND = 2.0**-51
"""What a sum of sums may be wrong by, against itself."""


def values() -> Iterator[tuple[int, int, float | None]]:
    """Return keys, panes and values: one row per pane, so that panes add nothing of their own."""
    rng = np.random.default_rng(5)
    for pane in range(PANES):
        yield 0, pane, float(rng.normal() * 10.0 ** rng.integers(-8, 12))
        # A large value comes and goes, and what is small next to it must be there afterwards.
        yield 1, pane, 3e20 if pane % 97 == 5 else float(rng.random() * 1e-6)
        # What goes to infinity, or is no number, is over when it has left.
        odd = {50: math.inf, 150: -math.inf, 190: math.inf, 300: math.nan}
        yield 2, pane, odd.get(pane, float(rng.random()))
        yield 3, pane, None if pane % 200 < 150 else 0.1
        if pane % 100 < 20:
            yield 4, pane, -0.1 if pane % 2 else 0.1


def summed(found: list[float | None]) -> float | None:
    there = [value for value in found if value is not None]
    if not there:
        return None
    if any(not math.isfinite(value) for value in there):
        return sum(there)
    return math.fsum(there)


def panes_and_columns(
    spark: SparkSession, rows: list[tuple[int, int, float | None]]
) -> tuple[DataFrame, PaneColumns]:
    made = [(key, None, pane, value, None) for key, pane, value in rows]
    frame = spark.createDataFrame(made, SCHEMA)
    asked = {"total": "sum(x)", "mean": "avg(x)", "none": "sum(y)"}
    read = read_aggregates(frame, asked, "ts", taken_back=True)
    assert [one.kind for one in read] == [T.DoubleType()] * 3
    columns = PaneColumns("ts", WINDOWS, read, frame.schema, ["k"], ["k"])
    return columns.combined(frame, "pane"), columns


def test_sums_and_means_stay_exact_however_many_windows_close(spark: SparkSession) -> None:
    rows = list(values())
    panes, columns = panes_and_columns(spark, rows)
    rests = Rests(columns.parts)
    gathering = Gathering(KEYS, lambda df: df.repartition(2, "k0"), KEYS)
    last = PANES - PER_WINDOW
    closed = closed_windows(rests.on(panes), gathering, columns.parts, WINDOWS, 0, last)
    results = columns.finished(closed).selectExpr(
        "unix_micros(window.start) AS start", "k", "total", "mean", "none"
    )
    found = {(row["k"], row["start"]): row for row in results.collect()}
    assert rests.are_none()
    by_key: dict[int, dict[int, float | None]] = {}
    for key, pane, value in rows:
        by_key.setdefault(key, {})[pane] = value
    expected = 0
    for key, mine in by_key.items():
        for start in range(last + 1):
            inside = [mine[p] for p in range(start, start + PER_WINDOW) if p in mine]
            if not inside:
                assert (key, start) not in found
                continue
            expected += 1
            row, total = found[key, start], summed(inside)
            assert row["none"] is None
            if total is None:
                assert row["total"] is None
                assert row["mean"] is None
                continue
            assert row["total"] == pytest.approx(total, rel=BOUND, abs=0.0, nan_ok=True)
            count = sum(value is not None for value in inside)
            assert row["mean"] == pytest.approx(total / count, rel=2 * BOUND, abs=0.0, nan_ok=True)
    assert len(found) == expected


@pytest.mark.parametrize("value", [1e40, 1e-40, 5e-324, -1.7e308])
def test_what_is_too_large_or_too_small_to_be_taken_back_is_kept_and_noticed(
    value: float, spark: SparkSession
) -> None:
    panes, columns = panes_and_columns(spark, [(0, 0, 0.5), (1, 0, value), (1, 1, 0.0)])
    rests = Rests(columns.parts)
    gathering = Gathering(KEYS, lambda df: df.repartition(1, "k0"), KEYS)
    closed = closed_windows(rests.on(panes), gathering, columns.parts, WINDOWS, 0, 0, exact=False)
    found = {row["k"]: row["total"] for row in columns.finished(closed).collect()}
    assert found == {0: 0.5, 1: value}
    assert not rests.are_none()
