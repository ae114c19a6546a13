"""Running aggregates per key: Spark combines the rows of a batch, a vector merge does the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.journal.keyed.entries import NO_TIMEOUT
from trimtab.spark.columns import quoted
from trimtab.spark.counting.observed import Observed
from trimtab.spark.routing.compiled import lay_out
from trimtab.spark.stream.operations.base import Results, Rows, Running, Wanted
from trimtab.spark.stream.state.kept import KeyedKept
from trimtab.spark.stream.state.lane import Work
from trimtab.spark.stream.state.merging import goes_round, merged
from trimtab.spark.stream.state.operation import KeyedOperation
from trimtab.spark.stream.state.shape import WATERMARK, Kind, Shape, key_hashes
from trimtab.spark.stream.state.vector_work import Keys, Made, VectorWork, due_at
from trimtab.spark.stream.windows.aggregates import Aggregate


class Merge(VectorWork):
    """Adds the partial results of a batch, one row per key, to those that were kept.

    Parameters
    ----------
    parts, result
        Names of partial results with the functions that merge them, and the type of what comes out.
    time, watermark
        The column of the result with the key's event time, and Spark's watermark in milliseconds:
        a key that the watermark has passed is forgotten, since its rows are late. By default none
        is.
    round_sums
        Whether sums of whole numbers that do not fit go round; by default they are refused.
    """

    def __init__(
        self,
        parts: Sequence[tuple[str, str]],
        result: T.StructType,
        time: str | None = None,
        watermark: int = 0,
        round_sums: bool = False,
    ) -> None:
        self.parts = tuple(parts)
        self.result = result
        self.time = time
        self.round_sums = round_sums
        # What ends at the watermark is over; timeouts are due when they lie before.
        self.times_out_before = NO_TIMEOUT if time is None else watermark + 1

    def made(self, keys: Keys) -> Made:
        """Return the merged partial results, which are both result and state."""
        new = pa.Table.from_batches([keys.rows])
        columns = [
            merged(how, keys.states[name], new[name], round_sums=self.round_sums)
            for name, how in self.parts
        ]
        states = pa.table(columns, names=[name for name, _ in self.parts])
        count = keys.exists.size
        result = pa.table([*keys.keys.columns, *columns], names=self.result.names)
        until = np.full(count, NO_TIMEOUT) if self.time is None else due_at(result[self.time])
        return Made(result, np.arange(count), np.ones(count, dtype=np.bool_), states, until)


class RunningAggregate(KeyedOperation):
    """Aggregates of all rows that a key has had so far.

    Parameters
    ----------
    aggregates
        The aggregates, from `windows.aggregates.read_aggregates`.
    rows, keys, names
        Type of the rows; the columns that hold the key, and what users call them.
    blank
        A frame of that type without rows, by which Spark tells the types of partial results.
    """

    def __init__(
        self,
        aggregates: Sequence[Aggregate],
        keys: Sequence[str],
        names: Sequence[str],
        blank: DataFrame,
    ) -> None:
        self.aggregates = tuple(aggregates)
        self.given = tuple(keys)
        self._hashes = key_hashes([blank.schema[key] for key in keys])
        self._inner = tuple(f"k{i}" for i in range(len(keys)))
        combined = self._combined(blank, []).schema
        state = T.StructType(combined.fields[len(keys) :])
        times = [WATERMARK in blank.schema[key].metadata for key in keys]
        # As in Spark rows are late by a time that is part of their key.
        self._time = keys[times.index(True)] if any(times) else None
        inner = None if self._time is None else self._inner[times.index(True)]
        super().__init__(Shape.of(combined, self._inner, names, (), state, blank.columns), inner)
        self._parts = [
            (part.name, part.merge) for aggregate in aggregates for part in aggregate.parts
        ]

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {
            "operation": "running",
            "aggregates": [[one.name, one.text] for one in self.aggregates],
        }

    def wants(self, running: Running, kept: KeyedKept) -> Wanted:
        """Ask for rows on their lanes, with the key's hashes."""
        shape = self.shape
        columns = dict(zip((shape.hash, shape.check), self._hashes, strict=True))
        return Wanted(columns=columns, counted=self._on_time(kept, self._time))

    def pieces(self, running: Running, rows: Rows, kept: KeyedKept) -> DataFrame:
        """Return the keys' aggregates after the batch, and one record for each lane."""
        shape, lane = self.shape, str(rows.lane)
        on_time = self._on_time(kept, self._time)
        frame = rows.frame if on_time is None else rows.frame.where(on_time)
        combined = self._combined(frame, [lane, shape.hash, shape.check])
        kind = F.expr(f"CAST({int(Kind.ROW)} AS TINYINT) AS {shape.kind}")
        beside = self.with_states(running, kept, combined.select("*", kind), lane)
        # Few rows, one for each active key: the second shuffle brings them to states that move.
        return self.on_lanes(running, Rows(lay_out(beside, running.batch.lanes, lane), lane), kept)

    def work(self, running: Running, kept: KeyedKept) -> Work:
        """Return the merge."""
        watermark = (running.spark_watermark or 0) // 1000
        round_sums = goes_round(running.session)
        return Merge(self._parts, self.shape.rows, self.event_time, watermark, round_sums)

    def results(
        self, running: Running, rows: Rows, kept: KeyedKept, seen: Observed | None
    ) -> Results:
        """Return the key columns and the aggregates of keys that had rows."""
        found = super().results(running, rows, kept, seen).frame
        assert found is not None
        return Results(found.select(*self._named(), *(one.result for one in self.aggregates)))

    def result_schema(self, blank: DataFrame) -> T.StructType:
        """Return the type of the results."""
        combined = self._combined(blank, [])
        shown = combined.select(*self._named(), *(one.result for one in self.aggregates))
        return shown.schema

    def _named(self) -> list[Column]:
        pairs = zip(self._inner, self.shape.names, strict=True)
        return [F.expr(f"{inner} AS {quoted(name)}") for inner, name in pairs]

    def _combined(self, rows: DataFrame, leading: Sequence[str]) -> DataFrame:
        return combined(rows, leading, zip(self.given, self._inner, strict=True), self.aggregates)


def combined(
    rows: DataFrame,
    leading: Sequence[str],
    keys: Iterable[tuple[str, str]],
    aggregates: Sequence[Aggregate],
) -> DataFrame:
    """Return rows combined to partial results.

    Parameters
    ----------
    rows, leading
        The rows, and columns to group by that keep their names.
    keys
        Key columns, each with the name it gets.
    aggregates
        What is combined.
    """
    names = [F.expr(f"{quoted(key)} AS {inner}") for key, inner in keys]
    partials = [
        column.alias(part.name)
        for aggregate in aggregates
        for column, part in zip(aggregate.partials, aggregate.parts, strict=True)
    ]
    return rows.groupBy(*leading, *names).agg(*partials)
