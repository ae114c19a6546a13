"""The columns of panes: what rows are combined to, what is carried on, and what results show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.spark.columns import quoted
from trimtab.spark.stream.windows.aggregates import Aggregate
from trimtab.spark.stream.windows.merging import carried_columns
from trimtab.spark.stream.windows.panes import ROWS, Part, Windows
from trimtab.spark.stream.windows.reduce_tasks import allow_small_tasks


@dataclass(frozen=True)
class Top:
    """How many keys of each window are shown, and the aggregate whose highest values they have."""

    count: int
    by: str


class PaneColumns:
    """Columns of one query, each made once: making one is a conversation with the Java process.

    Parameters
    ----------
    time, windows
        Name of the event-time column, and the windows.
    aggregates
        What is computed.
    schema
        Type of the rows.
    given_keys, names
        The key columns of the rows, and the names that they have in the results.
    top
        Which keys of a window are shown; None for all.
    """

    def __init__(
        self,
        time: str,
        windows: Windows,
        aggregates: Sequence[Aggregate],
        schema: T.StructType,
        given_keys: Sequence[str],
        names: Sequence[str],
        top: Top | None = None,
    ) -> None:
        self._ntz = isinstance(schema[time].dataType, T.TimestampNTZType)
        self._windows = windows
        self._aggregates = aggregates
        self._schema = schema
        self._given_keys = given_keys
        self._names = names
        self._top = top
        self._panes: T.StructType | None = None

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key columns of panes."""
        return tuple(f"k{i}" for i in range(len(self._given_keys)))

    @cached_property
    def parts(self) -> list[Part]:
        """All partial results that are kept."""
        return [part for aggregate in self._aggregates for part in aggregate.parts]

    def combined(self, rows: DataFrame, pane: str, lane: Sequence[str] = ()) -> DataFrame:
        """Return the rows of each key and pane, and lane, combined."""
        return rows.groupBy(*lane, *self._key_columns, F.expr(f"{pane} AS pane")).agg(
            *self._partials
        )

    def combined_with_times(
        self, rows: DataFrame, pane: str, micros: str, lane: Sequence[str] = ()
    ) -> DataFrame:
        """Return the same, with the number of rows that have a time and the latest time."""
        allow_small_tasks(rows.sparkSession)
        times = (F.expr(f"count({micros}) AS usable"), F.expr(f"max({micros}) AS latest"))
        groups = rows.groupBy(*lane, *self._key_columns, F.expr(f"{pane} AS pane"))
        return groups.agg(*self._partials, *times)

    def finished(self, found: DataFrame) -> DataFrame:
        """Return the output columns: window, key, aggregates; of the top keys with their rank."""
        results = found.select(*self._shown)
        if self._top is None:
            return results
        keys, value = [quoted(name) for name in self._names], quoted(self._top.by)
        order = f"{value} DESC NULLS LAST, {', '.join(keys)}"
        rank = f"row_number() OVER (PARTITION BY window ORDER BY {order}) AS rank"
        ranked = results.selectExpr("*", rank).where(f"rank <= {self._top.count}")
        return ranked.select("window", "rank", *keys, value)

    def as_carried(self, frame: DataFrame, session: SparkSession) -> DataFrame:
        """Return a result to carry on with its columns as they are read again."""
        return self.as_kept(frame, self.of_carried(session))

    def as_kept(self, frame: DataFrame, kind: T.StructType) -> DataFrame:
        """Return merged results with the columns as they are read again: sums grow wider."""
        values = (
            f"cast({field.name} AS {field.dataType.simpleString()}) AS {field.name}"
            for field in kind[len(self.keys) :]
        )
        return frame.selectExpr(*self.keys, *values)

    def of_panes(self, session: SparkSession) -> T.StructType:
        """Return the type of panes."""
        if self._panes is None:
            blank = session.createDataFrame([], self._schema)
            self._panes = self.combined(blank, "0L").schema
        return self._panes

    def of_condensed(self, session: SparkSession) -> T.StructType:
        """Return the type of one partial result per key."""
        return T.StructType([f for f in self.of_panes(session) if f.name != "pane"])

    def of_carried(self, session: SparkSession) -> T.StructType:
        """Return the type of a result that is carried on."""
        panes = {field.name: field for field in self.of_panes(session)}
        names = (*self.keys, *carried_columns(self.parts))
        return T.StructType([panes.get(name, T.StructField(name, T.LongType())) for name in names])

    def of_results(self, session: SparkSession) -> T.StructType:
        """Return the type of results."""
        blank = session.createDataFrame([], self._schema).withColumn("pane", F.expr("0L"))
        started = self.combined(blank, "pane").withColumnRenamed("pane", "start")
        return self.finished(started).schema

    @cached_property
    def _key_columns(self) -> list[Column]:
        pairs = zip(self._given_keys, self.keys, strict=True)
        return [F.expr(f"{quoted(key)} AS {inner}") for key, inner in pairs]

    @cached_property
    def _partials(self) -> list[Column]:
        partials = [
            column.alias(part.name)
            for aggregate in self._aggregates
            for column, part in zip(aggregate.partials, aggregate.parts, strict=True)
        ]
        return [F.expr(f"count(1) AS {ROWS.name}"), *partials]

    @cached_property
    def _shown(self) -> list[Column]:
        start, end = self._moment("start"), self._moment(f"start + {self._windows.window}")
        pairs = zip(self._names, self.keys, strict=True)
        return [
            F.expr(f"named_struct('start', {start}, 'end', {end}) AS window"),
            *(F.expr(f"{inner} AS {quoted(name)}") for name, inner in pairs),
            *(aggregate.result for aggregate in self._aggregates),
        ]

    def _moment(self, micros: str) -> str:
        if self._ntz:
            return f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01 00:00:00')"
        return f"timestamp_micros({micros})"
