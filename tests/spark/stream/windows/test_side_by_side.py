"""Windows that have columns of their own: when there is room for them, and that they are right."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.frames import exchanges
from trimtab.spark.stream.windows.merging import Gathering, closed_windows
from trimtab.spark.stream.windows.panes import ROWS, Part, Windows
from trimtab.spark.stream.windows.side_by_side import MOST_COLUMNS, columns_for

KEYS = ("k0",)
BY_SPARK = Gathering(KEYS, lambda df: df.repartition("k0"), KEYS, by_spark=True)
SUM = Part("p0", "sum", has_inverse=True, may_be_null=True)
MAX = Part("p1", "max", has_inverse=False, may_be_null=True)
LIST = Part("p2", "flatten(collect_list(p2))", has_inverse=False, may_be_null=True)
PANES = [
    (key, 10 * pane, 1 + pane % 3, None if (key + pane) % 4 == 0 else key - pane, key * pane)
    for key in range(7)
    for pane in range(-3, 12)
    if (key * pane) % 5 != 1
]


@pytest.fixture(scope="module")
def panes(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(PANES, "k0 long, pane long, n long, p0 long, p1 long")


def expected(windows: Windows, first: int, last: int) -> set[tuple[Any, ...]]:
    """Add up what is in each window, pane by pane."""
    found: dict[tuple[int, int], list[tuple[int, int | None, int]]] = defaultdict(list)
    for start in range(first, last + 1, windows.slide):
        for key, pane, *values in PANES:
            if start <= pane < start + windows.window:
                found[key, start].append((values[0] or 0, values[1], values[2] or 0))
    made = set()
    for (key, start), rows in found.items():
        sums = [row[1] for row in rows if row[1] is not None]
        total = sum(sums) if sums else None
        made.add((key, start, sum(row[0] for row in rows), total, max(row[2] for row in rows)))
    return made


@pytest.mark.spark
@pytest.mark.parametrize("count", [2, 5, 7, 8])
def test_each_window_is_the_sum_of_its_panes(panes: DataFrame, count: int) -> None:
    windows = Windows(40, 10, 0)
    last = 10 * (count - 1)
    found = closed_windows(panes, BY_SPARK, [SUM, MAX], windows, 0, last)
    rows = found.select("k0", "start", "n", "p0", "p1").collect()
    assert len(rows) == len(set(rows))
    assert {tuple(row) for row in rows} == expected(windows, 0, last)


@pytest.mark.spark
def test_a_slide_may_hold_several_panes(panes: DataFrame) -> None:
    windows = Windows(50, 20, 0)
    found = closed_windows(panes, BY_SPARK, [SUM, MAX], windows, -20, 40)
    rows = {tuple(row) for row in found.select("k0", "start", "n", "p0", "p1").collect()}
    assert rows == expected(windows, -20, 40)


@pytest.mark.spark
def test_what_is_condensed_is_in_all_windows(panes: DataFrame) -> None:
    windows = Windows(60, 10, 0)
    inside = panes.where("pane BETWEEN 30 AND 50")
    condensed = inside.groupBy("k0").agg(
        F.sum("n").alias("n"), F.sum("p0").alias("p0"), F.max("p1").alias("p1")
    )
    others = panes.where("NOT pane BETWEEN 30 AND 50")
    found = closed_windows(others, BY_SPARK, [SUM, MAX], windows, 0, 30, condensed=condensed)
    rows = {tuple(row) for row in found.select("k0", "start", "n", "p0", "p1").collect()}
    assert rows == expected(windows, 0, 30)


@pytest.mark.spark
def test_one_row_per_key_is_exchanged_and_nothing_is_sorted(panes: DataFrame) -> None:
    found = closed_windows(panes, BY_SPARK, [SUM, MAX], Windows(40, 10, 0), 0, 30)
    assert len(exchanges(found)) == 1
    plan = found._jdf.queryExecution().executedPlan().toString()
    for dear in ("Window", "Sort", "Generate"):
        assert dear not in plan


def test_rows_that_would_be_too_wide_are_not_made() -> None:
    assert columns_for(16, [ROWS, SUM]) == 16
    assert columns_for(MOST_COLUMNS + 1, [ROWS]) is None
    assert columns_for(17, [ROWS, SUM]) is None


def test_there_is_room_for_some_numbers_of_windows_only() -> None:
    found = {columns_for(count, [ROWS]) for count in range(1, MOST_COLUMNS + 1)}
    assert None not in found
    assert len(found) == 13


def test_what_merges_by_an_expression_has_another_road() -> None:
    assert columns_for(2, [ROWS, LIST]) is None
