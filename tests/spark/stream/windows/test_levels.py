"""Panes in levels: how many pieces a closing reads, and that each pane is read once."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.spark.stream.windows.levels import FANOUT, Step, raised, standing_in
from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.segments import COMPACT_AFTER, Segment

Rows = frozenset[tuple[int, int]]
"""What a piece stands for: a batch and a pane of it, each."""


class Stream:
    """Batches of some panes each, which close as many windows; some bring rows of older panes."""

    def __init__(self, panes: int, late: float, per_batch: int = 1) -> None:
        self.per_batch = per_batch
        self.windows = Windows(panes, 1, 0)
        self.step = Step((), ())
        self.rows: dict[str, Rows] = {}
        self.rng = np.random.default_rng(panes)
        self.late = late
        self.rewritten = 0

    def batch(self, number: int, looks: bool) -> tuple[list[tuple[int, int]], int]:
        """Run a batch; return what the closing of its window has read, and in how many pieces.

        What it has read is only put together if somebody `looks`.
        """
        panes = self.windows.window
        newest = (number + 1) * self.per_batch - 1
        start, last = newest - panes + 2 - self.per_batch, newest - panes + 1
        mine = set(range(newest + 1 - self.per_batch, newest + 1))
        if self.rng.random() < self.late:
            mine.add(max(0, newest - int(self.rng.integers(1, panes))))
        name = str(number)
        self.rows[name] = frozenset((number, pane) for pane in mine)
        segments = (*self.step.segments, Segment(name, min(mine), max(mine)))
        chosen = standing_in(self.step.condensed, last, start + panes)
        taken = {segment for one in chosen for segment in one.segments}
        others = [s for s in segments if s.name not in taken and s.reaches(start, last + panes)]
        read: list[tuple[int, int]] = []
        if looks:
            read += [row for one in chosen for row in self.rows[one.name]]
            read += [row for one in others for row in self.rows[one.name] if row[1] >= start]
        live = [s for s in segments if s.last > last]
        self.step = raised(live, self.step.condensed, name, self.windows, last + 1)
        assert len(self.step.merges) <= 3
        for merge in self.step.merges:
            every = [row for one in merge.of for row in self.rows[one.name]]
            self.rows[merge.name] = frozenset(r for r in every if merge.first <= r[1] < merge.end)
            self.rewritten += len(self.rows[merge.name])
        return read, len(chosen) + len(others)


@pytest.mark.parametrize("late", [0.0, 0.3], ids=["in order", "rows late by up to a window"])
@pytest.mark.parametrize("panes", [60, 600, 3600])
def test_a_closing_reads_a_logarithm_of_the_panes_and_each_once(panes: int, late: float) -> None:
    stream = Stream(panes, late)
    most = 0
    every: set[tuple[int, int]] = set()
    for number in range(2 * panes + 40):
        looks = number >= panes and number % (panes // 20) == 0
        read, pieces = stream.batch(number, looks)
        every |= stream.rows[str(number)]
        if looks:
            assert sorted(read) == sorted(row for row in every if row[1] > number - panes)
        most = max(most, pieces)
    levels = int(np.ceil(np.log(panes / COMPACT_AFTER) / np.log(FANOUT)))
    # Batches that are not merged yet, segments at the ends of the window, and of each level up to
    # three results at either end and one that waits; of the highest, which span an eighth of a
    # window or more, nine.
    bound = COMPACT_AFTER + 2 + 7 * levels + 9
    if late:
        bound += COMPACT_AFTER * (1 + int(np.log(panes) / np.log(COMPACT_AFTER)))
    assert most <= bound
    assert most <= 0.5 * panes
    # A pane is written again as it is merged, and once for each level.
    assert stream.rewritten <= (2 + levels + (2 if late else 0)) * (2 * panes + 40) * (1 + late)
    # Nothing is kept that is over.
    assert min(s.last for s in stream.step.segments) > panes
    names = {piece.name for piece in (*stream.step.segments, *stream.step.condensed)}
    # Main segments, as many results of the first level, and a third of that of all higher ones.
    assert len(names) <= panes / COMPACT_AFTER * (2 + 1 / (FANOUT - 1)) + bound


def test_a_batch_of_late_rows_alone_makes_no_main_segment() -> None:
    windows = Windows(1000, 1, 0)
    main = Segment("main", 0, 99, COMPACT_AFTER, whole=True, kind="main")
    small = [Segment(str(n), n, n + 3) for n in range(COMPACT_AFTER)]
    step = raised([main, *small], (), "7", windows, 0)
    assert [s.name for s in step.segments] == ["main", "7-late"]
    assert step.condensed == ()
    assert [(m.name, m.first, m.end) for m in step.merges] == [("7-late", 0, 100)]


@pytest.mark.parametrize("per_batch", [10, 180])
def test_batches_of_many_panes_are_condensed_sooner(per_batch: int) -> None:
    panes = 3600
    stream = Stream(panes, 0.0, per_batch)
    count = 2 * panes // per_batch
    assert max(stream.batch(number, False)[1] for number in range(count)) <= 40
    read, _ = stream.batch(count, True)
    # All panes of the windows that close, each once.
    first = (count + 1) * per_batch - panes + 1 - per_batch
    assert sorted(pane for _, pane in read) == list(range(first, (count + 1) * per_batch))
    # No main segment is much longer than a batch: that is what is read pane by pane at the ends.
    mains = [s for s in stream.step.segments if s.kind == "main"]
    assert len(mains) > 1
    assert all(s.last - s.first < per_batch + COMPACT_AFTER for s in mains)


def test_short_windows_are_condensed_by_the_number_of_batches_alone() -> None:
    step = raised([Segment("0", 0, 29), Segment("1", 30, 59)], (), "1", Windows(60, 1, 0), 0)
    assert step.merges == ()
