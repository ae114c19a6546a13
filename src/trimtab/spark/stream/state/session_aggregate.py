"""The operation of sessions: aggregates of rows that follow each other within a gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.spark.columns import quoted, spare_names
from trimtab.spark.counting.observed import Observed
from trimtab.spark.routing.compiled import lay_out
from trimtab.spark.stream.operations.base import Results, Rows, Running, Wanted
from trimtab.spark.stream.state.kept import KeyedKept
from trimtab.spark.stream.state.lane import Work
from trimtab.spark.stream.state.merging import goes_round
from trimtab.spark.stream.state.operation import KeyedOperation
from trimtab.spark.stream.state.running import combined
from trimtab.spark.stream.state.sessions import END, START, MergeSessions
from trimtab.spark.stream.state.shape import Kind, Shape, key_hashes
from trimtab.spark.stream.windows.aggregates import Aggregate

OUTPUT = "session_window"
"""What Spark calls the column with start and end of a session."""

_DAY = 86_400_000_000

_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


class SessionAggregate(KeyedOperation):
    """Aggregates by key and session; a session comes out when the watermark has passed its end.

    Parameters
    ----------
    time, gap, days
        The event-time column, with Spark's watermark, and the microseconds that end a session;
        whole days among them, which clocks make longer or shorter when they change.
    aggregates
        The aggregates, from `windows.aggregates.read_aggregates`.
    keys, names
        The columns that hold the key, and what users call them.
    blank
        A frame of the stream's type without rows.
    """

    updates = False

    def __init__(
        self,
        time: str,
        gap: int,
        days: int,
        aggregates: Sequence[Aggregate],
        keys: Sequence[str],
        names: Sequence[str],
        blank: DataFrame,
    ) -> None:
        self.gap = gap
        self.aggregates = tuple(aggregates)
        self.given = tuple(keys)
        self._hashes = key_hashes([blank.schema[key] for key in keys])
        self._inner = tuple(f"k{i}" for i in range(len(keys)))
        self._zoned = isinstance(blank.schema[time].dataType, T.TimestampType)
        self._at, self._until = spare_names(blank.columns, "at", "until")
        self._moment = f"unix_micros({quoted(time)})"
        if not self._zoned:
            self._moment = f"timestampdiff(MICROSECOND, {_EPOCH}, {quoted(time)})"
        self.days = days if self._zoned else 0
        self._end = f"{self._moment} + {gap}L"
        if self.days:
            seconds = f"{(gap - self.days * _DAY) / 1e6:.6f}"
            interval = f"make_interval(0, 0, 0, {self.days}, 0, 0, {seconds})"
            self._end = f"unix_micros({quoted(time)} + {interval})"
        moments = [f"{self._moment} AS {self._at}", f"{self._end} AS {self._until}"]
        at = blank.select("*", *map(F.expr, moments))
        rows = self._combined(at, []).schema
        self._parts = [
            (part.name, part.merge) for aggregate in aggregates for part in aggregate.parts
        ]
        partials = [rows[name] for name, _ in self._parts]
        ends = [T.StructField(name, T.LongType()) for name in (START, END)]
        state = [T.StructField(one.name, T.ArrayType(one.dataType)) for one in (*ends, *partials)]
        shape = Shape.of(rows, self._inner, names, (), T.StructType(state), blank.columns)
        super().__init__(shape, time)
        inner = [T.StructField(key, rows[key].dataType) for key in self._inner]
        self._result = T.StructType([*inner, *ends, *partials])

    @property
    def uses_time_zone(self) -> bool:
        """Whether how long a gap is depends on the session's time zone."""
        return self.days > 0

    @property
    def needs_heartbeat(self) -> bool:
        """Whether batches must run although no rows have come: sessions may have ended."""
        return True

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {
            "operation": "sessions",
            "time": self.event_time,
            "gap": self.gap,
            **({"days": self.days} if self.days else {}),
            "aggregates": [[one.name, one.text] for one in self.aggregates],
        }

    def wants(self, running: Running, kept: KeyedKept) -> Wanted:
        """Ask for rows on their lanes, with the key's hashes and the time in microseconds."""
        hashed, check = self._hashes
        columns = {
            self.shape.hash: hashed,
            self.shape.check: check,
            self._at: self._moment,
            self._until: self._end,
        }
        # A row is late if the session that it would be by itself has ended.
        on_time = f"coalesce({self._until} > {kept.watermark}000L, false)"
        return Wanted(columns=columns, counted=on_time)

    def pieces(self, running: Running, rows: Rows, kept: KeyedKept) -> DataFrame:
        """Return the sessions that have ended, and one record for each lane."""
        shape, lane = self.shape, str(rows.lane)
        on_time = self.wants(running, kept).counted
        partials = self._combined(rows.frame.where(on_time), [lane, shape.hash, shape.check])
        kind = F.expr(f"CAST({int(Kind.ROW)} AS TINYINT) AS {shape.kind}")
        beside = self.with_states(running, kept, partials.select("*", kind), lane)
        return self.on_lanes(running, Rows(lay_out(beside, running.batch.lanes, lane), lane), kept)

    def work(self, running: Running, kept: KeyedKept) -> Work:
        """Return the merge of rows into sessions."""
        watermark = (running.spark_watermark or 0) // 1000
        return MergeSessions(self._parts, self._result, watermark, goes_round(running.session))

    def results(
        self, running: Running, rows: Rows, kept: KeyedKept, seen: Observed | None
    ) -> Results:
        """Return sessions, key columns and aggregates."""
        found = super().results(running, rows, kept, seen).frame
        assert found is not None
        return Results(self._shown(found))

    def result_schema(self, blank: DataFrame) -> T.StructType:
        """Return the type of the results."""
        empty = blank.sparkSession.createDataFrame([], self._result)
        return self._shown(empty).schema

    def _shown(self, found: DataFrame) -> DataFrame:
        def moment(name: str) -> str:
            if self._zoned:
                return f"timestamp_micros({name})"
            return f"timestampadd(MICROSECOND, {name}, {_EPOCH})"

        ends = ", ".join(f"{moment(f'`{name}`')} AS {name}" for name in (START, END))
        keys = zip(self._inner, self.shape.names, strict=True)
        return found.select(
            F.expr(f"struct({ends}) AS {OUTPUT}"),
            *(F.expr(f"{inner} AS {quoted(name)}") for inner, name in keys),
            *(one.result for one in self.aggregates),
        )

    def _combined(self, rows: DataFrame, leading: Sequence[str]) -> DataFrame:
        # A time has one end: the second says nothing new, and comes along.
        moments = [(self._at, "at"), (self._until, "until")]
        keys = [*zip(self.given, self._inner, strict=True), *moments]
        return combined(rows, leading, keys, self.aggregates)
