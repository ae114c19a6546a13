"""Which panes are read to close windows, against all panes of every window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from trimtab.spark.stream.windows.closing import closing_span, panes_for
from trimtab.spark.stream.windows.merging import Gathering, carried_window, closed_windows
from trimtab.spark.stream.windows.panes import Part, Windows
from trimtab.spark.stream.windows.segments import CarriedWindow, Segment, all_carried

WINDOWS = Windows(120, 10, 15)
PARTS = [Part("p0", "sum", has_inverse=True, may_be_null=True)]
SCHEMA = "k0 long, pane long, n long, p0 long"


def batch(number: int) -> list[tuple[int, int, int, int | None]]:
    """Return the panes of a batch: most are new, some are of windows that have partly ended."""
    rng = np.random.default_rng(number)
    made = []
    for key in range(6):
        pane = 10 * number - (60 if rng.random() < 0.3 else 0)
        value = None if rng.random() < 0.4 else int(rng.integers(-9, 9))
        made.append((key, pane, int(rng.integers(1, 4)), value))
    return made


def rows(df: DataFrame) -> list[Any]:
    return sorted(map(tuple, df.select("k0", "start", "n", "p0").collect()), key=repr)


def test_closing_spans_hold_only_windows_that_may_have_panes() -> None:
    assert closing_span(WINDOWS, [], 0, 1000) is None
    segments = [Segment("a", 50, 70)]
    assert closing_span(WINDOWS, segments, 0, 1000) == (-60, 70)
    assert closing_span(WINDOWS, segments, 100, 110) == (-10, -10)
    assert closing_span(WINDOWS, segments, 500, 1000) is None


@pytest.mark.spark
def test_a_carried_result_gives_what_all_panes_give(spark: SparkSession) -> None:
    keys = ("k0",)
    gathering = Gathering(keys, lambda df: df.repartition(2, "k0"), keys)
    made = {f"{n}": spark.createDataFrame(batch(n), SCHEMA) for n in range(20)}
    segments = [
        Segment(name, min(r[1] for r in batch(int(name))), max(r[1] for r in batch(int(name))))
        for name in made
    ]

    def read(some: Any) -> DataFrame:
        frame = made[some[0].name]
        for one in some[1:]:
            frame = frame.union(made[one.name])
        return frame

    def direct(first: int, last: int) -> Any:
        found = panes_for(WINDOWS, segments, first, last, read, None)
        assert found is not None
        return rows(closed_windows(found.panes, gathering, PARTS, WINDOWS, first, last))

    # Carried from the panes of twelve batches; those of three more come and go after that.
    old, start = segments[:12], 40
    panes = panes_for(WINDOWS, old, start, start, read, None)
    assert panes is not None
    carried = carried_window(panes.panes, keys, PARTS, WINDOWS, start, None).cache()
    known = (CarriedWindow("c", start), carried)
    segments[:] = [*all_carried(old), *segments[12:15]]
    for first, last in ((40, 40), (40, 60), (70, 90), (120, 140)):
        found = panes_for(WINDOWS, segments, first, last, read, known)
        assert found is not None
        assert found.carried is not None
        got = closed_windows(
            found.panes, gathering, PARTS, WINDOWS, first, last, carried=found.carried
        )
        assert rows(got) == direct(first, last)
    # Carried on from there, it is the same as if it were made of all panes.
    again = panes_for(WINDOWS, segments, 60, 60, read, known)
    every = panes_for(WINDOWS, segments, 60, 60, read, None)
    assert again is not None
    assert every is not None
    on = carried_window(again.panes, keys, PARTS, WINDOWS, 60, again.carried)
    fresh = carried_window(every.panes, keys, PARTS, WINDOWS, 60, None)
    columns = ("k0", "n", "p0", "p0_there")
    assert sorted(on.select(*columns).collect()) == sorted(fresh.select(*columns).collect())
    # Only what came and went is read: not the panes in the middle of the window.
    in_time = [Segment(str(n), 10 * n, 10 * n, carried=n < 16) for n in range(18)]
    went = panes_for(WINDOWS, in_time, 60, 60, read, known)
    whole = panes_for(WINDOWS, in_time, 60, 60, read, None)
    assert went is not None
    assert whole is not None
    assert (went.segments, whole.segments) == (4, 12)
    # Which keys are split is known of one segment; of several, any key may be in two of them.
    known = [replace(one, split=(5,)) for one in in_time]
    for first, split in ((170, (5,)), (160, None)):
        some = panes_for(WINDOWS, known, first, first, read, None)
        assert some is not None
        assert some.split == split
