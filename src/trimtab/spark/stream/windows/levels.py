"""Panes in levels, for aggregates that cannot be taken back: a window needs a logarithm of them.

Segments of single batches, sixteen of them or of sixteen panes, are merged into a main segment,
pane by pane, and into one partial result per key beside it. Four of these become one of the next
level, and so on. A window then takes one large result from its middle, and smaller and smaller ones
towards its ends. Rows that came behind the panes of the main segment before go to a late one: else
a single row would stretch a segment over the whole window, and it could never be taken as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.spark.stream.windows.panes import AFTER_ALL_TIMES, BEFORE_ALL_TIMES, Windows
from trimtab.spark.stream.windows.segments import COMPACT_AFTER, Condensed, Segment, level_of

FANOUT = 4
"""Condensed results that make one of the next level. A closing reads up to three of each level at
either end of a window; more of them would be fewer levels, and more to read."""


LEAST_MAINS = 4
"""Main segments that a window holds at least, where their panes decide when they are made."""


@dataclass(frozen=True)
class Merge:
    """A piece to be written, of others: their panes from `first` up to, not including, `end`.

    Panes stay apart, if `by_pane`; otherwise there is one result per key.
    """

    name: str
    of: tuple[Segment, ...] | tuple[Condensed, ...]
    first: int
    end: int
    by_pane: bool


@dataclass(frozen=True)
class Step:
    """What is there once the pieces of some merges have been written."""

    segments: tuple[Segment, ...]
    condensed: tuple[Condensed, ...]
    merges: tuple[Merge, ...] = ()


def standing_in(condensed: Sequence[Condensed], first: int, end: int) -> list[Condensed]:
    """Return as few condensed results as possible, all of whose panes are in a span."""
    chosen: list[Condensed] = []
    taken: set[str] = set()
    for one in sorted(condensed, key=lambda c: -c.level):
        if first <= one.first and one.last < end and taken.isdisjoint(one.segments):
            chosen.append(one)
            taken.update(one.segments)
    return chosen


def raised(
    segments: Sequence[Segment],
    condensed: Sequence[Condensed],
    name: str,
    windows: Windows,
    needed_from: int,
) -> Step:
    """Return the next step towards higher levels: one at most, the lowest that is due.

    Parameters
    ----------
    segments, condensed
        What is kept.
    name
        How the names of new pieces begin.
    windows
        The windows: no result is made that more than half of one would not hold.
    needed_from
        The first pane that is still needed.
    """
    # No window to come holds all panes of what begins before.
    useful = tuple(one for one in condensed if one.first >= needed_from)
    small = [s for s in segments if s.kind == "small"]
    begin = max([needed_from, *(s.last + windows.pane for s in segments if s.kind == "main")])
    if _is_due(small, begin, windows):
        return _with_main(segments, useful, small, name, windows, needed_from, begin)
    late = [s for s in segments if s.kind == "late"]
    for level in sorted({level_of(s.batches) for s in late}):
        alike = tuple(s for s in late if level_of(s.batches) == level)
        if len(alike) >= COMPACT_AFTER:
            ends = max(needed_from, min(s.first for s in alike)), max(s.last for s in alike)
            merged = _merged(f"{name}-late", alike, *ends, kind="late")
            merge = Merge(merged.name, alike, needed_from, AFTER_ALL_TIMES, by_pane=True)
            return Step((*_without(segments, alike), merged), useful, (merge,))
    for level in sorted({one.level for one in useful}):
        covered = {s for one in useful for s in one.segments if one.level > level}
        roots = [c for c in useful if c.level == level and covered.isdisjoint(c.segments)]
        four = tuple(sorted(roots, key=lambda c: c.first)[:FANOUT])
        if len(four) < FANOUT or 2 * (four[-1].last - four[0].first) > windows.window:
            continue
        names = tuple(n for one in four for n in one.segments)
        last = max(one.last for one in four)
        higher = Condensed(f"{name}-condensed", four[0].first, last, level + 1, names)
        merge = Merge(higher.name, four, BEFORE_ALL_TIMES, AFTER_ALL_TIMES, by_pane=False)
        return Step(tuple(segments), (*useful, higher), (merge,))
    return Step(tuple(segments), useful)


def _is_due(small: Sequence[Segment], begin: int, windows: Windows) -> bool:
    """Tell whether small segments make a main one: by their number, or by their panes.

    Panes behind `begin` do not count: late rows alone are no reason to merge. Of short windows a
    main segment would be too large a part to be inside of all that a batch closes.
    """
    if len(small) >= COMPACT_AFTER:
        return True
    if not small or windows.window < LEAST_MAINS * COMPACT_AFTER * windows.pane:
        return False
    first = max(begin, min(s.first for s in small))
    return windows.panes_in(first, max(s.last for s in small)) >= COMPACT_AFTER


def _with_main(
    segments: Sequence[Segment],
    condensed: tuple[Condensed, ...],
    small: Sequence[Segment],
    name: str,
    windows: Windows,
    needed_from: int,
    begin: int,
) -> Step:
    """Return the step that makes a main segment of small ones, and a late one if there is need."""
    of = tuple(small)
    first, last = min(s.first for s in small), max(s.last for s in small)
    merges: list[Merge] = []
    kept = _without(segments, small)
    if first < begin and begin > needed_from:
        ends = max(first, needed_from), min(last, begin - windows.pane)
        late = _merged(f"{name}-late", small, *ends, kind="late")
        merges.append(Merge(late.name, of, needed_from, begin, by_pane=True))
        kept.append(late)
    if last >= begin:
        main = _merged(f"{name}-merged", small, max(first, begin), last, kind="main")
        one = Condensed(f"{name}-condensed", main.first, main.last, 1, (main.name,))
        merges.append(Merge(main.name, of, begin, AFTER_ALL_TIMES, by_pane=True))
        merges.append(Merge(one.name, of, begin, AFTER_ALL_TIMES, by_pane=False))
        kept.append(main)
        condensed = (*condensed, one)
    return Step(tuple(kept), condensed, tuple(merges))


def _merged(name: str, of: Sequence[Segment], first: int, last: int, kind: str) -> Segment:
    exact = all(s.exact for s in of)
    batches = sum(s.batches for s in of)
    return Segment(name, first, last, batches, whole=True, exact=exact, kind=kind)


def _without(segments: Sequence[Segment], some: Sequence[Segment]) -> list[Segment]:
    names = {s.name for s in some}
    return [s for s in segments if s.name not in names]
