"""Few files instead of many: which pieces take the place of others after a batch, as frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.spark.stream.windows.combining import PaneColumns
from trimtab.spark.stream.windows.levels import Merge, Step, raised
from trimtab.spark.stream.windows.merging import between, merged_panes
from trimtab.spark.stream.windows.panes import AFTER_ALL_TIMES, Windows
from trimtab.spark.stream.windows.segments import LONGEST_PART, Condensed, Segment, compacted

Read = Callable[[Sequence[str], T.StructType], DataFrame]


def compaction(
    windows: Windows,
    segments: Sequence[Segment],
    condensed: Sequence[Condensed],
    name: str,
    needed_from: int,
    *,
    by_levels: bool,
) -> Step:
    """Return what is kept of the segments after a batch, and which pieces that takes.

    Parameters
    ----------
    windows
        The windows.
    segments, condensed
        What is there.
    name
        How the names of new pieces begin.
    needed_from
        The first pane that is still needed; segments that end before are let go.
    by_levels
        Whether panes are condensed level by level: for aggregates that cannot be taken back.
    """
    live = [s for s in segments if s.last >= needed_from]
    if by_levels:
        return raised(live, condensed, name, windows, needed_from)
    live, small = compacted(live, f"{name}-merged", windows.window // LONGEST_PART)
    if not small:
        return Step(tuple(live), ())
    merge = Merge(live[-1].name, tuple(small), needed_from, AFTER_ALL_TIMES, by_pane=True)
    return Step(tuple(live), (), (merge,))


def pieces_of(
    step: Step, columns: PaneColumns, read: Read, session: SparkSession
) -> list[tuple[str, DataFrame]]:
    """Return the pieces that a step takes, by name."""
    return [(merge.name, _frame(merge, columns, read, session)) for merge in step.merges]


def _frame(merge: Merge, columns: PaneColumns, read: Read, session: SparkSession) -> DataFrame:
    names = [one.name for one in merge.of]
    if isinstance(merge.of[0], Condensed):
        kind = columns.of_condensed(session)
        return columns.as_kept(merged_panes(read(names, kind), columns.keys, columns.parts), kind)
    kind = columns.of_panes(session)
    panes = read(names, kind).where(between("pane", merge.first, merge.end))
    if not merge.by_pane:
        merged = merged_panes(panes, columns.keys, columns.parts)
        return columns.as_kept(merged, columns.of_condensed(session))
    merged = merged_panes(panes, (*columns.keys, "pane"), columns.parts)
    # In the order of panes a reader of few of them passes by the pages of the others.
    return columns.as_kept(merged, kind).sortWithinPartitions("pane")
