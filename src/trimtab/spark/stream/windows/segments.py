"""What windows keep between two batches: segments of panes, and the result that is carried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from trimtab.spark.stream.windows.panes import Windows

COMPACT_AFTER = 16
"""Pane files of so many batches are merged into one: reading many small files is slow."""

LONGEST_PART = 4
"""A segment that was merged again and again spans at most this part of a window."""

STEPS_PER_WINDOW = 8
"""A result is carried on where a batch closes less than this part of a window: otherwise the panes
are read again as quickly."""


@dataclass(frozen=True)
class Segment:
    """Pane results in the checkpoint.

    Attributes
    ----------
    name
        Name of the piece.
    first, last
        First and last pane in it.
    batches
        Number of batches that it holds the panes of.
    whole
        Whether no key has a pane twice in it.
    carried
        Whether its panes are in the result that is carried on, as far as that reaches.
    exact
        Whether all of its partial results can be taken back, if they have an inverse.
    split
        Hashes of the keys that may have a pane twice in it; None if they are not known.
    kind
        Where there are levels: "small" if it is of a batch, "main" if it was merged from such, and
        "late" if it is of panes that came behind those of a main one.
    """

    name: str
    first: int
    last: int
    batches: int = 1
    whole: bool = False
    carried: bool = False
    exact: bool = True
    kind: str = "small"
    split: tuple[int, ...] | None = None

    def reaches(self, first: int, end: int) -> bool:
        """Tell whether it may hold panes of a span."""
        return self.last >= first and self.first < end


@dataclass(frozen=True)
class Condensed:
    """One partial result per key of all panes of some segments.

    Attributes
    ----------
    name
        Name of the piece.
    first, last
        First and last pane in it.
    level
        1 for one segment, more for several.
    segments
        The names of these segments.
    """

    name: str
    first: int
    last: int
    level: int
    segments: tuple[str, ...]


@dataclass(frozen=True)
class CarriedWindow:
    """The result so far of a window in the checkpoint: name of the piece, start of the window.

    It is the first window that has not ended, so that no pane of windows that have is needed.
    """

    name: str
    start: int


@dataclass(frozen=True)
class WindowsKept:
    """What windows keep between two batches.

    Attributes
    ----------
    watermark
        Event time before which everything is done, in microseconds.
    segments
        Panes in the checkpoint.
    source_share
        Share of the rows that the fullest partition of the source had.
    heavy_from
        Number of rows in a pane from which on a key is hot.
    carried
        The newest window whose result is carried on; None if there is none.
    condensed
        Results that stand for segments, where nothing can be carried on.
    """

    watermark: int = 0
    segments: tuple[Segment, ...] = ()
    source_share: float = 0.0
    heavy_from: int | None = None
    carried: CarriedWindow | None = None
    condensed: tuple[Condensed, ...] = ()

    def state(self) -> dict[str, Any]:
        """Return everything, as a checkpoint holds it."""
        return {
            **vars(self),
            "segments": [vars(segment) for segment in self.segments],
            "carried": None if self.carried is None else vars(self.carried),
            "condensed": [vars(one) for one in self.condensed],
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> WindowsKept:
        """Read what `state` returned; a KeyError or TypeError means damage."""
        segments = tuple(Segment(**_with_tuples(facts)) for facts in state["segments"])
        carried = state.get("carried")
        known = None if carried is None else CarriedWindow(**carried)
        condensed = tuple(Condensed(**_with_tuples(facts)) for facts in state.get("condensed", ()))
        facts = {"segments": segments, "carried": known, "condensed": condensed}
        return cls(**{**state, **facts})


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in facts.items()}


def pays_to_carry(windows: Windows, first: int, last: int) -> bool:
    """Tell whether to carry a result on, where a batch closes the windows `first` to `last`."""
    return windows.window >= STEPS_PER_WINDOW * (last - first + windows.slide)


def compacted(
    segments: Sequence[Segment], name: str, longest: int
) -> tuple[list[Segment], list[Segment]]:
    """Return the segments after compaction, and those that the new one, if any, is made of.

    Segments of about as many batches are merged, level by level, so that a pane is written again
    as often as there are levels, and the number of segments grows with their logarithm. Segments
    whose panes are in the result that is carried on, and others, stay apart.

    Parameters
    ----------
    segments, name
        The segments, and the name of a new one.
    longest
        The longest span of a new one: a segment is deleted once all of its panes are over, and one
        as long as the window would keep twice what is needed.
    """
    levels = sorted({(level_of(s.batches), s.carried) for s in segments})
    for level, carried in levels:
        alike = [s for s in segments if (level_of(s.batches), s.carried) == (level, carried)]
        first, last = min(s.first for s in alike), max(s.last for s in alike)
        if len(alike) < COMPACT_AFTER or (level and last - first > longest):
            continue
        batches = sum(s.batches for s in alike)
        exact = all(s.exact for s in alike)
        whole = Segment(name, first, last, batches, whole=True, carried=carried, exact=exact)
        return [*(s for s in segments if s not in alike), whole], alike
    return list(segments), []


def level_of(batches: int) -> int:
    """Return how often segments of one batch have been merged to hold so many."""
    level = 0
    while batches >= COMPACT_AFTER > 1:
        batches //= COMPACT_AFTER
        level += 1
    return level


def all_exact(segments: Sequence[Segment]) -> bool:
    """Tell whether all partial results that have an inverse can be taken back."""
    return all(segment.exact for segment in segments)


def all_carried(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments as they are once a result has been made of all of them."""
    return [replace(segment, carried=True) for segment in segments]
