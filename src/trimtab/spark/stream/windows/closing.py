"""Which panes a batch reads to close windows: those that came and went, or all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from trimtab.spark.stream.windows.levels import standing_in
from trimtab.spark.stream.windows.merging import Carried, between
from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.segments import CarriedWindow, Condensed, Segment

Reader = Callable[[Sequence[Segment]], DataFrame]
CondensedReader = Callable[[Sequence[Condensed]], DataFrame]


@dataclass(frozen=True, eq=False)
class PanesRead:
    """What is read: panes, the result that stands for others, and how many segments that takes.

    Attributes
    ----------
    panes
        Panes that are added.
    carried
        What stands for the panes that are not in `panes`.
    whole
        Whether no key has a pane twice in `panes`.
    segments
        Number of pieces of panes that are read.
    split
        Hashes of the keys that may have a pane twice in `panes`; None if that may be any key.
    condensed
        Results that stand for panes which are in all of the windows.
    """

    panes: DataFrame
    carried: Carried | None
    whole: bool
    segments: int
    condensed: DataFrame | None = None
    split: tuple[int, ...] | None = None


def closing_span(
    windows: Windows, segments: Sequence[Segment], before: int, after: int
) -> tuple[int, int] | None:
    """Return the first and last window that end between two watermarks and may have panes."""
    if not segments:
        return None
    first, last = windows.closing(before, after)
    earliest = min(s.first for s in segments)
    latest = max(s.last for s in segments)
    first = max(first, windows.window_at(earliest - windows.window) + windows.slide)
    last = min(last, windows.window_at(latest))
    some = any(s.reaches(first, last + windows.window) for s in segments)
    return (first, last) if first <= last and some else None


def panes_for(
    windows: Windows,
    segments: Sequence[Segment],
    first: int,
    last: int,
    read: Reader,
    carried: tuple[CarriedWindow, DataFrame] | None,
) -> PanesRead | None:
    """Return what the windows `first` to `last` are made of; None if nothing is.

    Without a carried result these are all panes in them. With one they are the panes that are not
    in it, and it takes back those that are in it and have left by the last window.
    """
    end = last + windows.window
    if carried is None:
        needed = [s for s in segments if s.reaches(first, end)]
        if not needed:
            return None
        whole = len(needed) == 1 and needed[0].whole
        split = needed[0].split if len(needed) == 1 else None
        return PanesRead(read(needed), None, whole, len(needed), split=split)
    known, frame = carried
    reach = known.start + windows.window
    old = [s for s in segments if s.carried and s.reaches(reach, end)]
    new = [s for s in segments if not s.carried and s.reaches(first, end)]
    frames = [read(new)] if new else []
    if old or not new:
        frames.append(read(old or segments[:1]).where(between("pane", reach, max(reach, end))))
    panes = frames[0].union(frames[1]) if len(frames) > 1 else frames[0]
    leaving = None
    gone = min(last, reach)
    left = [s for s in segments if s.carried and s.reaches(known.start, gone)]
    if left and gone > known.start:
        leaving = read(left).where(between("pane", known.start, gone))
    names = {s.name for s in (*old, *new, *left)}
    return PanesRead(panes, Carried(known.start, frame, leaving), False, len(names))


def levels_for(
    windows: Windows,
    segments: Sequence[Segment],
    condensed: Sequence[Condensed],
    first: int,
    last: int,
    read: Reader,
    read_condensed: CondensedReader,
) -> PanesRead | None:
    """Return what the windows `first` to `last` are made of, condensed where that can be.

    A condensed result is taken where all of its panes are in all of the windows.
    """
    chosen = standing_in(condensed, last, first + windows.window)
    taken = {name for one in chosen for name in one.segments}
    needed = [s for s in segments if s.name not in taken]
    found = panes_for(windows, needed, first, last, read, None)
    if not chosen:
        return found
    panes = read(segments[:1]).where("false") if found is None else found.panes
    count = len(chosen) + (0 if found is None else found.segments)
    return PanesRead(panes, None, False, count, read_condensed(chosen))
