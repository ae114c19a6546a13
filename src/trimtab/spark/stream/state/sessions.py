"""Sessions per key: rows that follow each other within a gap, shown when the watermark has passed.

Spark combines rows of one key and time; sessions are made of these and of those that are open, for
all keys of a lane at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from trimtab.journal.keyed.entries import GONE, NO_TIMEOUT, Longs
from trimtab.journal.keyed.stack import HELD
from trimtab.spark.stream.state.lane import Lane
from trimtab.spark.stream.state.vector_work import Keys, Made, VectorWork

START, END = "start", "end"
"""Columns of a session: when it starts, and when it ends unless more rows come, in microseconds."""

MERGES = {
    "sum": "sum",
    "min": "min",
    "max": "max",
    **dict.fromkeys(("bool_and", "every"), "all"),
    **dict.fromkeys(("bool_or", "any", "some"), "any"),
}
"""How partial results of a session's rows become one, by Spark's function: Arrow's name of it."""

_DIGITS = 76
"""Of a decimal of 256 bits. Spark's have 38, and no sum of rows comes to more than these."""


class Open(NamedTuple):
    """Sessions of some keys, rising by key and start: the key's row, then a table of sessions."""

    key: Longs
    table: pa.Table


class MergeSessions(VectorWork):
    """Puts rows into sessions, and gives those that have ended.

    Parameters
    ----------
    parts
        Names of partial results, and the functions that merge them.
    result
        Type of what comes out: key columns, start, end and partial results.
    watermark
        Spark's watermark, in milliseconds.
    round_sums
        Whether sums of whole numbers that do not fit go round; by default they are refused.
    """

    def __init__(
        self,
        parts: Sequence[tuple[str, str]],
        result: T.StructType,
        watermark: int,
        round_sums: bool = False,
    ) -> None:
        self.parts = tuple(parts)
        self.result = result
        self.watermark = watermark
        self.round_sums = round_sums
        # What ends at the watermark has ended; timeouts are due when they lie before.
        self.times_out_before = watermark + 1

    def made(self, keys: Keys) -> Made:
        """Return the open sessions with the rows in them; those that have ended come out later."""
        rows = pa.Table.from_batches([keys.rows])
        names = [name for name, _ in self.parts]
        held = _sessions(keys.states, [START, END, *names])
        new = [rows["at"], rows["until"], *(rows[name] for name in names)]
        fresh = pa.table(new, names=[START, END, *names])
        table = pa.concat_tables([held.table.cast(fresh.schema), fresh])
        count = keys.exists.size
        whole = self._merged(np.concatenate((held.key, keys.row_of_key)), table)
        states = _lists(whole, count)
        every = np.arange(count)
        return Made(None, every, np.ones(count, dtype=np.bool_), states, _due(whole, count))

    def on_timeouts(self, lane: Lane, entries: pa.Table) -> Iterator[pa.RecordBatch]:
        """Return the sessions that have ended; what is open of their keys stays."""
        shape, count = lane.shape, entries.num_rows
        names = [one.name for one in shape.state_fields]
        plain = entries.select(names).rename_columns(shape.state.names)
        sessions = _sessions(plain, shape.state.names)
        over = sessions.table[END].to_numpy() <= self.watermark * 1000
        ended = sessions.table.filter(pa.array(over))
        stay = Open(sessions.key[~over], sessions.table.filter(pa.array(~over)))
        left = np.bincount(stay.key, minlength=count) > 0
        keys = [entries.column(one.name) for one in shape.key_fields]
        lane.change(
            entries["hash"].to_numpy(),
            entries["check"].to_numpy(),
            np.where(left, HELD, GONE).astype(np.int8),
            _due(stay, count),
            [*keys, *_lists(stay, count).columns],
            entries["kind"].to_numpy(),
        )
        of_key = pa.array(sessions.key[over])
        columns = [*(column.take(of_key) for column in keys), *ended.columns]
        yield from pa.table(columns, names=self.result.names).combine_chunks().to_batches()

    def _merged(self, key: Longs, table: pa.Table) -> Open:
        """Return sessions in which all that is less than a gap apart is one."""
        order = np.lexsort((table[START].to_numpy(), key))
        key, table = key[order], table.take(pa.array(order))
        start = table[START].to_numpy()
        latest = pd.Series(table[END].to_numpy()).groupby(key).cummax().to_numpy()
        begins = np.ones(key.size, dtype=np.bool_)
        # As in Spark a row at the very end of a session still belongs to it.
        begins[1:] = (key[1:] != key[:-1]) | (start[1:] > latest[:-1])
        number = pa.array(np.cumsum(begins) - 1)
        columns = {START: start, END: latest}
        wanted = [(START, "min"), (END, "max")]
        grouped = pa.table({"number": number, **columns})
        for name, how in self.parts:
            values = table[name]
            if MERGES[how] == "sum":
                values = _wide(values)
            grouped = grouped.append_column(name, values)
            wanted.append((name, MERGES[how]))
            if how == "sum" and pa.types.is_integer(values.type) and not self.round_sums:
                grouped = grouped.append_column(f"{name}~", values.cast(pa.float64(), safe=False))
                wanted.append((f"{name}~", "sum"))
            if how == "max" and pa.types.is_floating(table[name].type):
                grouped = grouped.append_column(f"{name}?", pc.is_nan(table[name]))
                wanted.append((f"{name}?", "any"))
        found = grouped.group_by("number", use_threads=False).aggregate(wanted).sort_by("number")
        merged = {START: found[f"{START}_min"], END: found[f"{END}_max"]}
        for name, how in self.parts:
            column = found[f"{name}_{MERGES[how]}"].cast(table[name].type)
            if f"{name}~_sum" in found.schema.names:
                _refuse_overflow(column, found[f"{name}~_sum"])
            if f"{name}?_any" in found.schema.names:
                # For Spark, as for sorting, NaN is above all numbers.
                is_nan = found[f"{name}?_any"].fill_null(False)
                column = pc.if_else(is_nan, pa.scalar(np.nan, column.type), column)
            merged[name] = column
        return Open(key[begins], pa.table(merged))


def _wide(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return decimals with more digits than Spark's have, so that a sum too large is seen."""
    kind = values.type
    if not pa.types.is_decimal(kind):
        return values
    return values.cast(pa.decimal256(_DIGITS, kind.scale))


def _refuse_overflow(sums: pa.ChunkedArray, about: pa.ChunkedArray) -> None:
    """Refuse sums of whole numbers that went round: Arrow lets them, and Spark does not.

    What went round is off by 2^64 at least, the sum of doubles by far less.
    """
    off = pc.abs(pc.subtract(sums.cast(pa.float64(), safe=False), about))
    if pc.any(pc.greater(off, 2.0**62)).as_py():
        raise pa.ArrowInvalid("overflow: the sum of a session does not fit its type")


def _sessions(states: pa.Table, names: Sequence[str]) -> Open:
    """Return the sessions that states hold as lists, one row each."""
    first = states.column(0).combine_chunks()
    key = pc.list_parent_indices(first).to_numpy(zero_copy_only=False).astype(np.int64)
    columns = [pc.list_flatten(states[name].combine_chunks()) for name in states.schema.names]
    return Open(key, pa.table(columns, names=list(names)))


def _lists(sessions: Open, count: int) -> pa.Table:
    """Return sessions as states of so many keys: every column as a list."""
    counts = np.bincount(sessions.key, minlength=count)
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))).astype(np.int32))
    columns = [
        pa.ListArray.from_arrays(offsets, column.combine_chunks())
        for column in sessions.table.columns
    ]
    return pa.table(columns, names=sessions.table.schema.names)


def _due(sessions: Open, count: int) -> Longs:
    """Return when the first session of each key ends, in milliseconds, rounded up."""
    ends: Any = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(ends, sessions.key, sessions.table[END].to_numpy())
    has = np.bincount(sessions.key, minlength=count) > 0
    return np.where(has, -(-ends // 1000), NO_TIMEOUT)
