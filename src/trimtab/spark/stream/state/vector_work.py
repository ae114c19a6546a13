"""Work on many keys of a lane at once, in Arrow and numpy: no Python per key."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trimtab.journal.keyed.entries import GONE, NO_TIMEOUT, Longs
from trimtab.journal.keyed.stack import HELD, Found
from trimtab.spark.stream.state.grouped_rows import SortedRows
from trimtab.spark.stream.state.lane import Lane, Work


@dataclass(frozen=True, eq=False)
class Keys:
    """Some keys of a lane with all their rows of a batch, and what is known of them.

    Attributes
    ----------
    keys
        The key columns, one row per key.
    rows, row_of_key
        The rows, rising by key, and for each of them the row of `keys` that it belongs to.
    starts
        The first row of each key.
    states, exists
        The state columns, one row per key, and whether the key has a state.
    """

    keys: pa.Table
    rows: pa.RecordBatch
    row_of_key: Longs
    starts: Longs
    states: pa.Table
    exists: NDArray[np.bool_]


class Made(NamedTuple):
    """What work has made of some keys.

    Attributes
    ----------
    results
        Rows that come out; None for none.
    keys
        Which keys have changed, by their rows in `Keys.keys`.
    held
        Whether each of them has a state from now on.
    states
        The state columns of those keys, whether held or not.
    timeouts
        When each of them times out, in milliseconds, `NO_TIMEOUT` for never.
    """

    results: pa.Table | None
    keys: Longs
    held: NDArray[np.bool_]
    states: pa.Table
    timeouts: Longs


class VectorWork(Work):
    """Work that is done for many keys at once."""

    timed: ClassVar[bool] = False
    """Whether it is a user's, and may take any time: its seconds go to its keys by their rows."""

    @abstractmethod
    def made(self, keys: Keys) -> Made:
        """Return results and new states of some keys; every key of a lane is given once."""

    def on_rows(self, lane: Lane, rows: Iterator[SortedRows]) -> Iterator[pa.RecordBatch]:
        """Do the work for all keys that have rows."""
        shape = lane.shape
        key_names = [one.name for one in shape.key_type.fields]
        state_names = [one.name for one in shape.state_fields]
        for batch in whole_keys(rows):
            heads = pa.array(batch.starts)
            columns = [batch.rows.column(name).take(heads) for name in shape.keys]
            hashes, checks = batch.hashes[batch.starts], batch.checks[batch.starts]
            found: Found = lane.stack.look_up(hashes, checks)
            counts = batch.counts
            states = found.table.select(state_names).rename_columns(shape.state.names)
            started = time.perf_counter()
            made = self.made(
                Keys(
                    pa.table(columns, names=key_names),
                    batch.rows,
                    np.repeat(np.arange(len(batch)), counts),
                    batch.starts,
                    states,
                    found.kinds == HELD,
                )
            )
            if self.timed:
                spent = (time.perf_counter() - started) / batch.rows.num_rows
                lane.times.add(hashes, counts, counts * spent)
            changed = made.keys
            lane.change(
                hashes[changed],
                checks[changed],
                np.where(made.held, HELD, GONE).astype(np.int8),
                np.where(made.held, made.timeouts, NO_TIMEOUT),
                [*(column.take(pa.array(changed)) for column in columns), *made.states.columns],
                found.kinds[changed],
            )
            if made.results is not None and made.results.num_rows:
                yield from made.results.combine_chunks().to_batches()

    def on_timeouts(self, lane: Lane, entries: pa.Table) -> Iterator[pa.RecordBatch]:
        """Let the states of keys go whose timeouts are due."""
        count = entries.num_rows
        lane.change(
            entries["hash"].to_numpy(),
            entries["check"].to_numpy(),
            np.full(count, GONE, dtype=np.int8),
            np.full(count, NO_TIMEOUT),
            entries.columns[4:],
            entries["kind"].to_numpy(),
        )
        return iter(())


def due_at(times: pa.Array | pa.ChunkedArray, micros: int = 0) -> Longs:
    """Return when a watermark has passed moments, and `micros` more: milliseconds, rounded up.

    Of a window its end counts, as for Spark. No watermark passes a moment that is null.
    """
    if pa.types.is_struct(times.type):
        times = pc.struct_field(times, "end")
    moments = pc.fill_null(times.cast(pa.int64()), 0).to_numpy()
    return np.where(np.asarray(times.is_null()), NO_TIMEOUT, -((-(moments + micros)) // 1000))


def whole_keys(rows: Iterator[SortedRows]) -> Iterator[SortedRows]:
    """Return sorted rows in batches that do not cut a key."""
    carried: list[SortedRows] = []
    for batch in rows:
        if carried and batch.key(len(batch) - 1) == carried[0].key(0):
            carried.append(batch)
            continue
        last = batch.bounds(len(batch) - 1)[0]
        if last or carried:
            yield _together([*carried, _part(batch, 0, last)])
        carried = [_part(batch, last, batch.rows.num_rows)]
    if carried:
        yield _together(carried)


def _part(batch: SortedRows, start: int, end: int) -> SortedRows:
    rows = batch.rows.slice(start, end - start)
    return SortedRows(rows, batch.hashes[start:end], batch.checks[start:end])


def _together(parts: list[SortedRows]) -> SortedRows:
    if len(parts) == 1:
        return parts[0]
    rows = pa.Table.from_batches([part.rows for part in parts]).combine_chunks()
    hashes = np.concatenate([part.hashes for part in parts])
    checks = np.concatenate([part.checks for part in parts])
    return SortedRows(rows.to_batches()[0], hashes, checks)
