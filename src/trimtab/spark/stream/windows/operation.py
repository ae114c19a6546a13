"""Windowed aggregation of a stream: rows into panes, panes into the checkpoint, windows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.journal import checkpoint
from trimtab.plan import Plan
from trimtab.planners.reduce_buckets import allocate
from trimtab.spark.columns import hash_text, quoted, spare_names
from trimtab.spark.counting.observed import Observed
from trimtab.spark.routing.compiled import lay_out, with_lane
from trimtab.spark.stream.operations.base import Operation, Outcome, Task
from trimtab.spark.stream.windows.aggregates import Aggregate
from trimtab.spark.stream.windows.panes import (
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


@dataclass(frozen=True)
class Segment:
    """Pane results in the checkpoint: a directory, and the first and last pane in it."""

    name: str
    first: int
    last: int
    batches: int = 1


class WindowedAggregate(Operation):
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
    keys
        Names of the key columns.
    layout
        "lanes" combines rows on their lanes, "source" where the source has them, "auto" decides by
        how level the source's own partitions are.
    """

    splits = True

    def __init__(
        self,
        time: str,
        windows: Windows,
        aggregates: list[Aggregate],
        output_mode: str,
        schema: T.StructType,
        keys: tuple[str, ...],
        layout: str,
    ) -> None:
        self.time = time
        self.windows = windows
        self.aggregates = aggregates
        self.output_mode = output_mode
        self.schema = schema
        self.keys = keys
        self.layout = layout

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {
            "operation": "aggregate",
            "time": self.time,
            "window": self.windows.window,
            "slide": self.windows.slide,
            "watermark": self.windows.delay,
            "aggregates": [
                [a.name, a.kind.simpleString(), [part.merge for part in a.parts]]
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

    def run(self, task: Task, memory: dict[str, Any]) -> Outcome:
        """Combine the rows of a batch into panes, and put the windows that are due in the sink."""
        windows, number = self.windows, task.batch.id
        watermark = memory.get("watermark", 0)
        segments = [Segment(**facts) for facts in memory.get("segments", [])]
        on_lanes = self._on_lanes(task, memory)
        name = f"{number:010d}"
        place = task.checkpoint.directory("panes", name)
        heavy_from = None
        if not on_lanes and number % LOOK_EVERY:
            heavy_from = memory.get("heavy_from")
        _keep(self._panes_of(task, watermark, on_lanes, heavy_from), place)
        checkpoint.at("panes written", number)
        seen = task.watch.read()
        assert seen is not None  # the write above was an action, and without a timeout it counts
        if seen.first_pane is not None and seen.last_pane is not None:
            segments.append(Segment(name, seen.first_pane, seen.last_pane))
        after = windows.advanced(watermark, seen.latest)
        results, count = self._results(task, segments, watermark, after)
        if task.sink is not None:
            task.sink.write(results, task.batch, task.rows.sparkSession)
        checkpoint.at("sink done", number)
        live = [s for s in segments if not windows.over_by(s.last, after)]
        live = self._compacted(task, live, after)
        return Outcome(
            seen,
            {
                "watermark": after,
                "segments": [vars(segment) for segment in live],
                "source": (
                    memory.get("source", 0.0) if seen.source is None else _source_share(seen)
                ),
                "heavy_from": self._heavy_from(seen),
            },
            {
                "watermark": np.datetime_as_string(np.datetime64(after, "us")),
                "late_rows": seen.late,
                "unusable_times": seen.unusable,
                "windows": count,
                "pane_files": len(live),
                "rows_on_lanes": on_lanes,
            },
            frozenset(segment.name for segment in live),
        )

    def _on_lanes(self, task: Task, memory: dict[str, Any]) -> bool:
        if task.route.router is not None or task.route.reduce_tasks is not None:
            return True
        if self.layout != "auto":
            return self.layout == "lanes"
        # Rows are combined in the tasks that read them, so that moving all of them first pays
        # only where one of these tasks would take as long as the move and what follows it.
        return bool(memory.get("source", 0.0) * _slots(task) > LOPSIDED)

    def _heavy_from(self, seen: Observed) -> int | None:
        """Return from how many rows on a key is hot in a pane, in a batch like this one."""
        if seen.first_pane is None or seen.last_pane is None:
            return None
        panes = (seen.last_pane - seen.first_pane) // self.windows.pane + 1
        return max(1, int(seen.histogram.total) // (HOT_SHARES * panes))

    def _panes_of(
        self, task: Task, watermark: int, on_lanes: bool, heavy_from: int | None
    ) -> DataFrame:
        # Rows that are not kept have no pane, and readers of panes pass them by. If they were
        # filtered out here, Spark would drop the figures of a batch that has no other rows.
        hashed, lane, micros = spare_names(self.schema.names, "hash", "lane", "micros")
        moment = f"unix_micros({quoted(self.time)})"
        usable = f"if({moment} BETWEEN {FIRST_MICROS}L AND {LAST_MICROS}L, {moment}, NULL)"
        rows = task.rows.select(
            "*",
            F.expr(f"{task.key_hash} AS {hashed}"),
            F.expr(f"{usable} AS {micros}"),
            task.watch.sampled,
        )
        kept = f"({micros} IS NOT NULL AND NOT {self.windows.is_late(micros, watermark)})"
        pane = f"if({kept}, {self.windows.pane_of(micros)}, NULL)"
        times = [F.expr(f"count({micros}) AS usable"), F.expr(f"max({micros}) AS latest")]
        if on_lanes:
            placed = task.with_lanes(rows, lane, hashed)
            watched = task.watched(hashed, kept=kept, lane=lane, in_groups=True)
            seen = lay_out(task.watch.on(placed, watched)[0], task.route.lanes, lane)
            panes = self._combined(seen, pane, [lane], times).drop(lane)
        else:
            if heavy_from is None:
                watched = task.watched(hashed, kept=kept, in_groups=True, hottest_only=True)
                rows, _ = task.watch.on(rows, watched)
            panes = self._combined(rows, pane, [], times)
        return task.watch.on_groups(panes, self._inner_keys, heavy_from)

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

    @cached_property
    def _no_panes(self) -> dict[str, T.StructType]:
        return {}

    def _read(self, task: Task, segments: list[Segment]) -> DataFrame:
        session = task.rows.sparkSession
        if "schema" not in self._no_panes:
            blank = session.createDataFrame([], self.schema)
            self._no_panes["schema"] = self._combined(blank, "0L").schema
        places = [str(task.checkpoint.directory("panes", s.name)) for s in segments]
        return session.read.schema(self._no_panes["schema"]).parquet(*places)

    def _results(
        self, task: Task, segments: list[Segment], before: int, after: int
    ) -> tuple[DataFrame | None, int]:
        windows, tasks = self.windows, task.route.reduce_tasks
        if not segments:
            return None, 0
        if self.output_mode == "update":
            fresh = [s for s in segments if s.name == f"{task.batch.id:010d}"]
            if not fresh:
                return None, 0
            old = [
                s for s in segments if s not in fresh and s.last > fresh[0].first - windows.window
            ]
            panes = self._read(task, fresh).withColumn("fresh", F.lit(True))
            if old:
                panes = panes.union(self._read(task, old).withColumn("fresh", F.lit(False)))
            panes, keys = self._in_buckets(task, panes)
            found = changed_windows(panes, keys, self.parts, windows, before, tasks)
            return self._finished(found), (fresh[0].last - fresh[0].first) // windows.slide + 1
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
        panes, keys = self._in_buckets(task, self._read(task, needed))
        found = closed_windows(panes, keys, self.parts, windows, first, last, tasks)
        return self._finished(found), (last - first) // windows.slide + 1

    def _in_buckets(self, task: Task, panes: DataFrame) -> tuple[DataFrame, list[str]]:
        """Bring panes to the reduce buckets of Prompt's Algorithm 3, where Prompt has planned."""
        plan, known = task.route.plan, task.batch.statistics
        if plan is None or plan.maker != "prompt" or known is None or len(plan) == 0:
            return panes, self._inner_keys
        buckets = task.route.reduce_tasks or plan.lanes
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
            F.col(inner).alias(key) for key, inner in zip(self.keys, self._inner_keys, strict=True)
        ]
        return found.select(
            window.alias("window"), *names, *(aggregate.result for aggregate in self.aggregates)
        )

    def _compacted(self, task: Task, live: list[Segment], watermark: int) -> list[Segment]:
        small = [s for s in live if s.batches < COMPACT_AFTER]
        if len(small) < COMPACT_AFTER:
            return live
        panes = self._read(task, small).where(f"NOT {self.windows.is_late('pane', watermark)}")
        name = f"{task.batch.id:010d}-merged"
        place = task.checkpoint.directory("panes", name)
        merged = merged_panes(panes, self._inner_keys, self.parts)
        _keep(merged, place)
        whole = Segment(
            name,
            min(s.first for s in small),
            max(s.last for s in small),
            sum(s.batches for s in small),
        )
        return [*(s for s in live if s not in small), whole]


LOOK_EVERY = 4
"""Where rows are combined as the source has them, sketches look at the rows of one batch in so
many; the hottest keys of the others come from the combined rows."""

HOT_SHARES = 256
"""A key is hot from one row in so many on, of a pane."""

LOPSIDED = 2.5
"""Rows of the fullest source partition, in level shares, from which on rows go to lanes first."""


def _keep(panes: DataFrame, place: Path) -> None:
    # They are read again within minutes: compressing them costs more time than it saves.
    panes.write.mode("overwrite").parquet(str(place), compression="none")


def _source_share(seen: Observed) -> float:
    """Return the share of the rows that the fullest partition of the source had."""
    if seen.source is None or seen.source.sum() <= 0:
        return 0.0
    return float(seen.source.max() / seen.source.sum())


def _slots(task: Task) -> int:
    """Return how many tasks run at once, as far as can be told."""
    try:
        cores = task.rows.sparkSession.sparkContext.defaultParallelism
    except Exception:  # Spark Connect has no context to ask
        cores = task.route.lanes
    return int(min(cores, task.route.lanes))


def _moment(micros: str, ntz: bool) -> Column:
    if ntz:
        return F.expr(f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01 00:00:00')")
    return F.expr(f"timestamp_micros({micros})")
