"""Windowed aggregation of a stream: rows into panes, panes into the checkpoint, windows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.plan import Plan
from trimtab.planners.reduce_buckets import allocate
from trimtab.spark.columns import hash_text, quoted, spare_names
from trimtab.spark.counting.observed import Observed
from trimtab.spark.routing.compiled import lay_out, with_lane
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
from trimtab.spark.stream.windows.panes import (
    BEFORE_ALL_TIMES,
    ROWS,
    Part,
    Windows,
    changed_windows,
    closed_windows,
    merged_panes,
)

COMPACT_AFTER = 16
"""Pane files of so many batches are merged into one: reading many small files is slow."""

FIRST_MICROS = -62_135_596_800_000_000
LAST_MICROS = 253_402_300_799_999_999
"""Event times outside of the years 1 to 9999 are not times, and would overflow the arithmetic."""

LOOK_EVERY = 4
"""Where rows are combined as the source has them, sketches look at the rows of one batch in four;
the hottest keys of the other three come from the combined rows."""

HOT_SHARE = 1 / 256
"""A key with at least this share of a pane's rows is named as hot."""

LOPSIDED = 2.5
"""Rows go to lanes first if the fullest source partition has more than so many level shares."""


@dataclass(frozen=True)
class Segment:
    """Pane results in the checkpoint: a directory, and the first and last pane in it."""

    name: str
    first: int
    last: int
    batches: int = 1


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
    """

    watermark: int = 0
    segments: tuple[Segment, ...] = ()
    source_share: float = 0.0
    heavy_from: int | None = None

    def state(self) -> dict[str, Any]:
        """Return everything, as a checkpoint holds it."""
        return {**vars(self), "segments": [vars(segment) for segment in self.segments]}


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
        that a batch has changed.
    schema
        Type of the rows.
    keys, names
        The key columns, and the names that they have in the results.
    layout
        "lanes" combines rows on their lanes, "source" where the source has them, "auto" decides by
        how level the source's own partitions are.
    follows_spark
        Whether windows end by Spark's watermark, as it is when a batch starts.
    """

    splits = True
    updates = True

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
    ) -> None:
        self.time = time
        self.windows = windows
        self.aggregates = aggregates
        self.output_mode = output_mode
        self.schema = schema
        self.keys = keys
        self.names = names
        self.follows_spark = follows_spark
        self.layout = layout
        self._pane_schema: T.StructType | None = None

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
            "aggregates": [
                [a.name, a.kind.simpleString(), a.text, [part.merge for part in a.parts]]
                for a in self.aggregates
            ],
            "output_mode": self.output_mode,
        }

    @cached_property
    def parts(self) -> list[Part]:
        """All partial results that are kept."""
        return [part for aggregate in self.aggregates for part in aggregate.parts]

    @property
    def _inner_keys(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    def result_schema(self, session: SparkSession) -> T.StructType:
        """Return the type of the results."""
        blank = self._combined(
            session.createDataFrame([], self.schema).withColumn("pane", F.lit(0).cast("long")),
            "pane",
        )
        started = blank.withColumnRenamed("pane", "start")
        return self._finished(started).schema

    def start(self) -> WindowsKept:
        """Return what is kept before the first batch."""
        return WindowsKept(self.windows.first_watermark)

    def restore(self, state: dict[str, Any]) -> WindowsKept:
        """Return what was kept, from its `state`."""
        segments = tuple(Segment(**facts) for facts in state["segments"])
        return WindowsKept(**{**state, "segments": segments})

    @cached_property
    def _micros(self) -> str:
        """The column with the event time in microseconds, null where it is not usable."""
        return spare_names(self.schema.names, "micros")[0]

    def _counted(self, watermark: int) -> str:
        late = self.windows.is_late(self._micros, watermark)
        return f"({self._micros} IS NOT NULL AND NOT {late})"

    def wants(self, running: Running, kept: WindowsKept) -> Wanted:
        """Ask for rows with their time, on lanes only where the source is lopsided."""
        moment = f"unix_micros({quoted(self.time)})"
        usable = f"if({moment} BETWEEN {FIRST_MICROS}L AND {LAST_MICROS}L, {moment}, NULL)"
        on_lanes = self._on_lanes(running, kept)
        looks = on_lanes or running.number % LOOK_EVERY == 0
        looks = looks or not has_bounded_max_by(running.session)
        return Wanted(
            on_lanes,
            {self._micros: usable},
            counted=self._counted(kept.watermark),
            in_pieces=True,
            piece_keys=tuple(self._inner_keys),
            heavy_from=None if looks else kept.heavy_from,
        )

    def moves_rows(self, kept: WindowsKept, slots: int) -> bool:
        """Tell whether rows move to their lanes before they are combined."""
        if self.layout != "auto":
            return self.layout == "lanes"
        # Rows are combined in the tasks that read them, so that moving all of them first pays
        # only where one of these tasks would take as long as the move and what follows it.
        return kept.source_share * slots > LOPSIDED

    def _on_lanes(self, running: Running, kept: WindowsKept) -> bool:
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
        times = [F.expr(f"count({micros}) AS usable"), F.expr(f"max({micros}) AS latest")]
        if rows.lane is None:
            return self._combined(rows.frame, pane, [], times)
        return self._combined(rows.frame, pane, [rows.lane], times).drop(rows.lane)

    def results(
        self, running: Running, rows: Rows, kept: WindowsKept, seen: Observed | None
    ) -> Results:
        """Return the windows that are due."""
        assert seen is not None  # pieces were written, and that has counted the rows
        segments = self._segments(running, kept, seen)
        after = self._watermark(running, kept, seen)
        if not segments:
            frame, count = None, 0
        elif self.output_mode == "update":
            frame, count = self._changed(running, segments, kept.watermark)
        else:
            frame, count = self._closed(running, segments, kept.watermark, after)
        return Results(frame, {"windows": count})

    def keep(
        self, running: Running, kept: WindowsKept, seen: Observed | None
    ) -> Keeping[WindowsKept]:
        """Keep the panes of windows that are not over, merged where there are many files."""
        assert seen is not None  # pieces were written, and that has counted the rows
        after = self._watermark(running, kept, seen)
        live = [
            segment
            for segment in self._segments(running, kept, seen)
            if not self.windows.over_by(segment.last, after)
        ]
        live, merged = self._compacted(running, live, after)
        source = kept.source_share if seen.source is None else _largest_share(seen.source)
        return Keeping(
            WindowsKept(after, tuple(live), source, self._heavy_from(seen)),
            {
                "watermark": _shown(after),
                "late_rows": seen.late,
                "unusable_times": seen.unusable,
                "pane_files": len(live),
                "rows_on_lanes": self._on_lanes(running, kept),
            },
            merged,
            frozenset(segment.name for segment in live),
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
            segments.append(Segment(name, seen.first_pane, seen.last_pane))
        return segments

    def _heavy_from(self, seen: Observed) -> int | None:
        """Return the number of rows in a pane that makes a key hot, in a batch like this one."""
        if seen.first_pane is None or seen.last_pane is None:
            return None
        panes = (seen.last_pane - seen.first_pane) // self.windows.pane + 1
        return max(1, int(seen.histogram.total * HOT_SHARE) // panes)

    def _combined(
        self, rows: DataFrame, pane: str, lane: Sequence[str] = (), more: Sequence[Column] = ()
    ) -> DataFrame:
        names = [
            F.expr(f"{quoted(key)} AS {inner}")
            for key, inner in zip(self.keys, self._inner_keys, strict=True)
        ]
        partials = [
            column.alias(part.name)
            for aggregate in self.aggregates
            for column, part in zip(aggregate.partials, aggregate.parts, strict=True)
        ]
        return rows.groupBy(*lane, *names, F.expr(f"{pane} AS pane")).agg(
            F.expr(f"count(1) AS {ROWS.name}"), *partials, *more
        )

    def _read(self, running: Running, segments: list[Segment]) -> DataFrame:
        if self._pane_schema is None:
            blank = running.session.createDataFrame([], self.schema)
            self._pane_schema = self._combined(blank, "0L").schema
        return running.pieces([segment.name for segment in segments], self._pane_schema)

    def _changed(
        self, running: Running, segments: list[Segment], watermark: int
    ) -> tuple[DataFrame | None, int]:
        """Return the windows that rows of this batch went to, and their number at most."""
        windows = self.windows
        fresh = [s for s in segments if s.name == f"{running.number:010d}"]
        if not fresh:
            return None, 0
        old = [s for s in segments if s not in fresh and s.last > fresh[0].first - windows.window]
        panes = self._read(running, fresh).withColumn("fresh", F.lit(True))
        if old:
            panes = panes.union(self._read(running, old).withColumn("fresh", F.lit(False)))
        panes, keys = self._in_buckets(running, panes)
        tasks = running.reduce_tasks
        found = changed_windows(panes, keys, self.parts, windows, watermark, tasks)
        return self._finished(found), (fresh[0].last - fresh[0].first) // windows.slide + 1

    def _closed(
        self, running: Running, segments: list[Segment], before: int, after: int
    ) -> tuple[DataFrame | None, int]:
        """Return the windows that end between two watermarks, and their number."""
        windows = self.windows
        first, last = windows.closing(before, after)
        earliest = min(s.first for s in segments)
        latest = max(s.last for s in segments)
        first = max(
            first, (earliest - windows.window) // windows.slide * windows.slide + windows.slide
        )
        last = min(last, latest // windows.slide * windows.slide)
        needed = [s for s in segments if s.last >= first and s.first < last + windows.window]
        if first > last or not needed:
            return None, 0
        panes, keys = self._in_buckets(running, self._read(running, needed))
        tasks = running.reduce_tasks
        found = closed_windows(panes, keys, self.parts, windows, first, last, tasks)
        return self._finished(found), (last - first) // windows.slide + 1

    def _in_buckets(self, running: Running, panes: DataFrame) -> tuple[DataFrame, list[str]]:
        """Bring panes to the reduce buckets of Prompt's Algorithm 3, where the keys are known."""
        plan, known = running.batch.plan, running.batch.statistics
        if plan is None or not running.counted_first or known is None or len(plan) == 0:
            return panes, self._inner_keys
        buckets = running.reduce_tasks or plan.lanes
        of_fragment = allocate(plan, known, buckets)
        of_key = Plan.whole_keys(buckets, plan.keys, of_fragment[plan.starts[:-1]])
        placed = with_lane(panes, of_key, "bucket", F.expr(hash_text(self._inner_keys)))
        return lay_out(placed, buckets, "bucket"), ["bucket", *self._inner_keys]

    def _finished(self, found: DataFrame) -> DataFrame:
        """Return the output columns: window, key, aggregates."""
        ntz = isinstance(self.schema[self.time].dataType, T.TimestampNTZType)
        start, end = _moment("start", ntz), _moment(f"start + {self.windows.window}", ntz)
        window = F.struct(start.alias("start"), end.alias("end"))
        names = [
            F.col(inner).alias(name)
            for name, inner in zip(self.names, self._inner_keys, strict=True)
        ]
        return found.select(
            window.alias("window"), *names, *(aggregate.result for aggregate in self.aggregates)
        )

    def _compacted(
        self, running: Running, live: list[Segment], watermark: int
    ) -> tuple[list[Segment], tuple[str, DataFrame] | None]:
        """Return the segments, and the frame that takes the place of the small ones, if any."""
        small = [s for s in live if s.batches < COMPACT_AFTER]
        if len(small) < COMPACT_AFTER:
            return live, None
        panes = self._read(running, small).where(f"NOT {self.windows.is_late('pane', watermark)}")
        name = f"{running.number:010d}-merged"
        whole = Segment(
            name,
            min(s.first for s in small),
            max(s.last for s in small),
            sum(s.batches for s in small),
        )
        merged = merged_panes(panes, self._inner_keys, self.parts)
        return [*(s for s in live if s not in small), whole], (name, merged)


def _shown(watermark: int) -> str | None:
    if watermark <= BEFORE_ALL_TIMES:
        return None
    return str(np.datetime_as_string(np.datetime64(watermark, "us")))


def _largest_share(rows: NDArray[np.float64]) -> float:
    """Return the share of the rows that the fullest of some partitions has."""
    total = float(rows.sum())
    return float(rows.max()) / total if total > 0 else 0.0


def _moment(micros: str, ntz: bool) -> Column:
    if ntz:
        return F.expr(f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01 00:00:00')")
    return F.expr(f"timestamp_micros({micros})")
