"""Windowed aggregation of a stream: rows into panes, panes into the checkpoint, windows out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.spark.columns import spare_names
from trimtab.spark.counting.observed import Observed
from trimtab.spark.session_facts import has_bounded_max_by
from trimtab.spark.stream.operations.base import (
    Keeping,
    Operation,
    Results,
    Rows,
    Running,
    Wanted,
)
from trimtab.spark.stream.windows.aggregates import Aggregate
from trimtab.spark.stream.windows.buckets import gathering_for, split_keys
from trimtab.spark.stream.windows.closing import (
    PanesRead,
    closing_span,
    levels_for,
    panes_for,
)
from trimtab.spark.stream.windows.combining import PaneColumns, Top
from trimtab.spark.stream.windows.compacting import compaction, pieces_of
from trimtab.spark.stream.windows.exact_sums import Rests
from trimtab.spark.stream.windows.merging import (
    carried_window,
    changed_windows,
    closed_windows,
    steady,
)
from trimtab.spark.stream.windows.panes import (
    AFTER_ALL_TIMES,
    Part,
    Windows,
    as_shown,
    usable_micros,
)
from trimtab.spark.stream.windows.reduce_tasks import tasks_for
from trimtab.spark.stream.windows.segments import (
    CarriedWindow,
    Condensed,
    Segment,
    WindowsKept,
    all_carried,
    all_exact,
    pays_to_carry,
)

LOOK_EVERY = 4
"""Where rows are combined as the source has them, sketches look at the rows of one batch in four;
the hottest keys of the other three come from the combined rows."""

HOT_SHARE = 1 / 256
"""A key with at least this share of a pane's rows is named as hot."""

LOPSIDED = 2.5
"""Rows go to lanes first if the fullest source partition has more than so many level shares."""


class WindowedAggregate(Operation[WindowsKept]):
    """Aggregate rows by key and event-time window.

    Parameters
    ----------
    time
        Name of the event-time column.
    windows
        Window, slide and delay.
    aggregates
        What is computed.
    output_mode
        "append" gives a window once, when the watermark passes its end; "update" gives the windows
        that a batch has changed, "complete" all of them.
    schema
        Type of the rows.
    keys, names
        The key columns, and the names that they have in the results.
    layout
        "lanes" combines rows on their lanes, "source" where the source has them, "auto" decides by
        how level the source's own partitions are.
    follows_spark
        Whether windows end by Spark's watermark, as it is when a batch starts.
    top
        Which keys of a window are shown; None for all.
    """

    splits = True
    updates = True
    completes = True

    def __init__(
        self,
        time: str,
        windows: Windows,
        aggregates: list[Aggregate],
        output_mode: str,
        schema: T.StructType,
        keys: tuple[str, ...],
        names: tuple[str, ...],
        layout: str,
        follows_spark: bool = False,
        top: Top | None = None,
    ) -> None:
        self.time = time
        self.windows = windows
        self.aggregates = aggregates
        self.output_mode = output_mode
        self.schema = schema
        self.keys = keys
        self.names = names
        self.follows_spark = follows_spark
        self.top = top
        self.layout = layout
        self.columns = PaneColumns(time, windows, aggregates, schema, keys, names, top)
        self._rests = Rests(self.parts)

    @property
    def uses_time_zone(self) -> bool:
        """Whether an aggregate is of an expression: a function of times asks for the zone."""
        return any("(" in a.text[a.text.index("(") + 1 :] for a in self.aggregates)

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {
            "operation": "aggregate",
            "time": [self.time, self.schema[self.time].dataType.simpleString()],
            "window": self.windows.window,
            "slide": self.windows.slide,
            **({"start_time": self.windows.origin} if self.windows.origin else {}),
            **({"top": [self.top.count, self.top.by]} if self.top else {}),
            "aggregates": [
                [a.name, a.kind.simpleString(), a.text, [part.merge for part in a.parts]]
                for a in self.aggregates
            ],
            "output_mode": self.output_mode,
        }

    @property
    def parts(self) -> list[Part]:
        """All partial results that are kept."""
        return self.columns.parts

    def result_schema(self, session: SparkSession) -> T.StructType:
        """Return the type of the results."""
        return self.columns.of_results(session)

    def start(self) -> WindowsKept:
        """Return what is kept before the first batch."""
        return WindowsKept(self.windows.first_watermark)

    def restore(self, state: dict[str, Any]) -> WindowsKept:
        """Return what was kept, from its `state`."""
        return WindowsKept.restore(state)

    @cached_property
    def _has_inverse(self) -> bool:
        return all(part.has_inverse for part in self.parts)

    @property
    def _by_levels(self) -> bool:
        """Whether panes are condensed: windows share them, and none can be taken back."""
        return self.output_mode == "append" and self.windows.overlaps and not self._has_inverse

    @cached_property
    def _micros(self) -> str:
        """The column with the event time in microseconds, null where it is not usable."""
        return spare_names(self.schema.names, "micros")[0]

    def _counted(self, watermark: int) -> str:
        """Say that a row has a time, and one of its windows has not ended; null counts as no."""
        bound = self.windows.first_in_time(watermark)
        return f"({self._micros} >= {steady(bound, self._micros)})"

    def wants(self, running: Running, kept: WindowsKept) -> Wanted:
        """Ask for rows with their time, on lanes only where the source is lopsided."""
        on_lanes = self._on_lanes(running, kept)
        looks = on_lanes or running.number % LOOK_EVERY == 0
        looks = (looks and not running.in_blocks) or not has_bounded_max_by(running.session)
        return Wanted(
            on_lanes,
            {self._micros: usable_micros(self.time)},
            counted=self._counted(kept.watermark),
            in_pieces=True,
            piece_keys=self.columns.keys,
            heavy_from=None if looks else kept.heavy_from,
            tasks=self._tasks(running, kept.segments[-1:]),
        )

    def moves_rows(self, kept: WindowsKept, slots: int) -> bool:
        """Tell whether rows move to their lanes before they are combined."""
        if self.layout != "auto":
            return self.layout == "lanes"
        # Rows are combined in the tasks that read them, so that moving all of them first pays
        # only where one of these tasks would take as long as the move and what follows it.
        return kept.source_share * slots > LOPSIDED

    def _on_lanes(self, running: Running, kept: WindowsKept) -> bool:
        if running.in_blocks:
            return False
        if running.batch.plan is None or running.reduce_tasks is not None:
            return True
        if running.counted_first and self.layout == "auto":
            # Who asks for a plan of the batch's own keys, and pays for the count, gets it.
            return True
        return self.moves_rows(kept, running.slots)

    def pieces(self, running: Running, rows: Rows, kept: WindowsKept) -> DataFrame:
        """Combine the rows of each key and pane.

        Rows that do not count have no pane, and readers of panes pass them by. If they were
        filtered out here, Spark would drop the figures of a batch that has no other rows.
        """
        micros = self._micros
        pane = f"if({self._counted(kept.watermark)}, {self.windows.pane_of(micros)}, NULL)"
        self._rests = Rests(self.parts)
        if rows.lane is None:
            return self._rests.on(self.columns.combined_with_times(rows.frame, pane, micros))
        combined = self.columns.combined_with_times(rows.frame, pane, micros, [rows.lane])
        return self._rests.on(combined.drop(rows.lane))

    def results(
        self, running: Running, rows: Rows, kept: WindowsKept, seen: Observed | None
    ) -> Results:
        """Return the windows that are due."""
        assert seen is not None  # pieces were written, and that has counted the rows
        segments = self._segments(running, kept, seen)
        if not segments:
            return Results(None, {"windows": 0})
        if self.output_mode == "update":
            return self._changed(running, segments, kept.watermark)
        if self.output_mode == "complete":
            return self._closed(running, segments, kept, AFTER_ALL_TIMES)
        return self._closed(running, segments, kept, self._watermark(running, kept, seen))

    def keep(
        self, running: Running, kept: WindowsKept, seen: Observed | None
    ) -> Keeping[WindowsKept]:
        """Keep the panes of windows that are not over, merged where there are many files."""
        assert seen is not None  # pieces were written, and that has counted the rows
        after = self._watermark(running, kept, seen)
        segments = self._segments(running, kept, seen)
        written: list[tuple[str, DataFrame]] = []
        carried, frame = self._carried_on(running, segments, kept, after)
        if frame is not None and carried is not None:
            written.append((carried.name, frame))
            segments = all_carried(segments)
        needed_from = self.windows.first_in_time(after)
        if carried is not None:
            needed_from = min(needed_from, carried.start)
        there = self.windows, segments, kept.condensed, f"{running.number:010d}", needed_from
        step = compaction(*there, by_levels=self._by_levels)
        written += pieces_of(step, self.columns, running.pieces, running.session)
        live = step.segments
        source = kept.source_share if seen.source is None else _largest_share(seen.source)
        panes = [s.name for s in live] + [c.name for c in step.condensed]
        names = {*panes, *([] if carried is None else [carried.name])}
        heavy = self._heavy_from(seen)
        return Keeping(
            WindowsKept(after, live, source, heavy, carried, step.condensed),
            {
                "watermark": as_shown(after),
                "late_rows": seen.late,
                "unusable_times": seen.unusable,
                "pane_files": len(panes),
                "rows_on_lanes": self._on_lanes(running, kept),
                "carried": carried is not None,
            },
            tuple(written),
            frozenset(names),
        )

    def _watermark(self, running: Running, kept: WindowsKept, seen: Observed) -> int:
        """Return the watermark after a batch: our own, or Spark's where it has several inputs."""
        if not self.follows_spark:
            return self.windows.advanced(kept.watermark, seen.latest)
        return max(kept.watermark, running.spark_watermark or 0)

    def _segments(self, running: Running, kept: WindowsKept, seen: Observed) -> list[Segment]:
        """Return the panes that are there once those of this batch have been written."""
        segments = list(kept.segments)
        if seen.first_pane is not None and seen.last_pane is not None:
            name = f"{running.number:010d}"
            # Combined on lanes, a key that is split has a partial result on each of them.
            moved = self._on_lanes(running, kept)
            split = split_keys(running.batch.plan) if moved else ()
            exact, ends = self._rests.are_none(), (seen.first_pane, seen.last_pane)
            segments.append(Segment(name, *ends, whole=split == (), exact=exact, split=split))
        return segments

    def _heavy_from(self, seen: Observed) -> int | None:
        """Return the number of rows in a pane that makes a key hot, in a batch like this one."""
        if seen.first_pane is None or seen.last_pane is None:
            return None
        panes = self.windows.panes_in(seen.first_pane, seen.last_pane)
        least = max(1, int(seen.histogram.total * HOT_SHARE) // panes)
        # A power of two is the same in batches that are alike, and so is the code that Spark runs.
        return 1 << least.bit_length() - 1

    def _read(self, running: Running, segments: Sequence[Segment]) -> DataFrame:
        names = [segment.name for segment in segments]
        return running.pieces(names, self.columns.of_panes(running.session))

    def _read_condensed(self, running: Running, condensed: Sequence[Condensed]) -> DataFrame:
        names = [one.name for one in condensed]
        return running.pieces(names, self.columns.of_condensed(running.session))

    def _changed(self, running: Running, segments: list[Segment], watermark: int) -> Results:
        """Return the windows that rows of this batch went to; they are counted at most."""
        windows = self.windows
        fresh = [s for s in segments if s.name == f"{running.number:010d}"]
        if not fresh:
            return Results(None, {"windows": 0})
        old = [s for s in segments if s not in fresh and s.last > fresh[0].first - windows.window]
        panes = self._read(running, fresh).withColumn("fresh", F.expr("1L"))
        if old:
            panes = panes.union(self._read(running, old).withColumn("fresh", F.expr("0L")))
        sent = windows.panes_in(fresh[0].first, fresh[0].last)
        gathering, counted = gathering_for(running, self.columns.keys, sent)
        first = windows.first_in_time(watermark)
        last = windows.window_at(max(s.last for s in (*fresh, *old)))
        exact = all_exact((*fresh, *old))
        found = changed_windows(panes, gathering, self.parts, windows, first, last, exact=exact)
        count = (fresh[0].last - fresh[0].first) // windows.slide + 1
        return Results(self.columns.finished(found), {"windows": count}, counted=counted)

    def _closed(
        self, running: Running, segments: list[Segment], kept: WindowsKept, after: int
    ) -> Results:
        """Return the windows that end between two watermarks."""
        span = closing_span(self.windows, segments, kept.watermark, after)
        read = None if span is None else self._panes(running, segments, kept, *span)
        if span is None or read is None:
            return Results(None, {"windows": 0})
        sent = self.windows.panes_in(segments[-1].first, segments[-1].last)
        gathering, counted = gathering_for(running, self.columns.keys, sent)
        split = read.split if gathering.forwards and not self.windows.overlaps else None
        found = closed_windows(
            *(read.panes, gathering, self.parts, self.windows, *span),
            whole=read.whole,
            split=split,
            exact=all_exact(segments),
            carried=read.carried,
            condensed=read.condensed,
        )
        count = (span[1] - span[0]) // self.windows.slide + 1
        event = {"windows": count, "segments_read": read.segments, "forwarded": split is not None}
        # Of windows that are ranked nobody knows how long they are.
        tasks = None if self.top else self._tasks(running, segments)
        return Results(self.columns.finished(found), event, counted=counted, tasks=tasks)

    def _tasks(self, running: Running, segments: Sequence[Segment]) -> int | None:
        return tasks_for(segments, running.batch.statistics, self.windows, running.slots)

    def _carried_on(
        self, running: Running, segments: list[Segment], kept: WindowsKept, after: int
    ) -> tuple[CarriedWindow | None, DataFrame | None]:
        """Return which result is carried on, and the frame of a new one."""
        slides = self.output_mode == "append" and self.windows.overlaps
        if not slides or not self._has_inverse or not all_exact(segments):
            return None, None
        span = closing_span(self.windows, segments, kept.watermark, after)
        if span is None:
            return kept.carried, None
        following = span[1] + self.windows.slide
        if not pays_to_carry(self.windows, *span) or max(s.last for s in segments) < following:
            return None, None
        read = self._panes(running, segments, kept, following, following)
        if read is None:
            return None, None
        keys, start = self.columns.keys, following
        frame = carried_window(read.panes, keys, self.parts, self.windows, start, read.carried)
        carried = CarriedWindow(f"{running.number:010d}-carried", start)
        return carried, self.columns.as_carried(frame, running.session)

    def _panes(
        self, running: Running, segments: list[Segment], kept: WindowsKept, first: int, last: int
    ) -> PanesRead | None:
        carried = None
        known = kept.carried if all_exact(segments) else None
        if known is not None and first < known.start + self.windows.window:
            frame = running.pieces([known.name], self.columns.of_carried(running.session))
            carried = (known, frame)

        read = partial(self._read, running)
        if not self._by_levels:
            return panes_for(self.windows, segments, first, last, read, carried)
        lower = partial(self._read_condensed, running)
        return levels_for(self.windows, segments, kept.condensed, first, last, read, lower)


def _largest_share(rows: NDArray[np.float64]) -> float:
    """Return the share of the rows that the fullest of some partitions has."""
    total = float(rows.sum())
    return float(rows.max()) / total if total > 0 else 0.0
