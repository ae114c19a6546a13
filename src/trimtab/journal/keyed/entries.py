"""Entries of a lane's state: a table sorted by key, in memory or mapped from a file.

A key is known by two 64-bit hashes: `hash`, by which it is routed, and `check`, which tells keys
of one hash apart. Together they are 128 bits, so that keys need not be compared by their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

GONE, HELD, AWAITED = 0, 1, 2
"""What an entry says of its key: that it has no state (any more), that it has one, or that it has
none but a timeout."""

NO_TIMEOUT = -1
"""The timeout of a key that has none, as Spark writes it."""

FIXED = (
    pa.field("hash", pa.int64(), nullable=False),
    pa.field("check", pa.int64(), nullable=False),
    pa.field("kind", pa.int8(), nullable=False),
    pa.field("timeout", pa.int64(), nullable=False),
)
"""The columns that every table of entries begins with; those of keys and states follow."""

Longs = NDArray[np.int64]


class Entries:
    """A table of entries, one per key, rising by `hash` and then by `check`.

    Parameters
    ----------
    table
        The columns `FIXED`, then those of the key and of the state.

    Examples
    --------
    >>> columns = {"hash": [3, 9], "check": [0, 0], "kind": [1, 1], "timeout": [-1, -1]}
    >>> held = Entries(pa.table(columns, schema=pa.schema(FIXED)))
    >>> held.find(np.array([9, 4]), np.array([0, 0])).tolist()
    [1, -1]
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.hashes = _numbers(table, "hash")
        self.checks = _numbers(table, "check")
        self.kinds = _numbers(table, "kind")
        self.timeouts = _numbers(table, "timeout")

    def __len__(self) -> int:
        return int(self.hashes.size)

    def find(self, hashes: Longs, checks: Longs) -> Longs:
        """Return the row of each key, -1 where it has none."""
        at = np.searchsorted(self.hashes, hashes)
        found = np.full(hashes.size, -1, dtype=np.int64)
        left = np.flatnonzero(at < len(self))
        # Keys of one hash stand side by side; nearly always there is one of them.
        while left.size:
            left = left[self.hashes[at[left]] == hashes[left]]
            same = self.checks[at[left]] == checks[left]
            found[left[same]] = at[left[same]]
            left = left[~same]
            at[left] += 1
            left = left[at[left] < len(self)]
        return found

    def take(self, rows: Longs) -> pa.Table:
        """Return some rows, reading no more of a mapped file than they need."""
        batches = self.table.to_batches()
        if len(batches) <= 1:
            return self.table.take(pa.array(rows))
        ends = np.cumsum([batch.num_rows for batch in batches])
        chunk = np.searchsorted(ends, rows, side="right")
        order = np.argsort(chunk, kind="stable")
        taken = []
        for number in np.unique(chunk):
            first = ends[number] - batches[number].num_rows
            wanted = pa.array(rows[order][chunk[order] == number] - first)
            taken.append(batches[number].take(wanted))
        back = np.empty(rows.size, dtype=np.int64)
        back[order] = np.arange(rows.size)
        return pa.Table.from_batches(taken, self.table.schema).combine_chunks().take(pa.array(back))


def sorted_entries(tables: Sequence[pa.Table], *, with_gone: bool = True) -> Entries:
    """Return the newest entry of each key; of tables given, the first is the newest.

    Parameters
    ----------
    tables
        Tables of one schema. Inside of a table keys may stand in any order, and a later row of a
        key is older.
    with_gone
        Whether entries of keys without a state stay. They hide entries below; at the bottom of a
        stack there are none.
    """
    whole = pa.concat_tables(tables).combine_chunks()
    hashes, checks = _numbers(whole, "hash"), _numbers(whole, "check")
    # Stable: of one key the newest stays first. The runs of sorted tables are quick to merge.
    order = np.argsort(hashes, kind="stable")
    hashes, checks = hashes[order], checks[order]
    same_hash = hashes[1:] == hashes[:-1]
    if np.any(same_hash & (checks[1:] != checks[:-1])):
        again = np.lexsort((np.arange(order.size), checks, hashes))
        order, checks = order[again], checks[again]
    newest = np.ones(order.size, dtype=np.bool_)
    newest[1:] = ~same_hash | (checks[1:] != checks[:-1])
    rows = order[newest]
    if not with_gone:
        rows = rows[_numbers(whole, "kind")[rows] != GONE]
    return Entries(whole.take(pa.array(rows)))


def hidden_by(layers: Iterable[Entries], hashes: Longs, checks: Longs) -> NDArray[np.bool_]:
    """Tell which keys have an entry in any of some layers."""
    hidden = np.zeros(hashes.size, dtype=np.bool_)
    for layer in layers:
        hidden |= layer.find(hashes, checks) >= 0
    return hidden


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    column = table.column(name)
    if column.num_chunks == 1:
        return np.asarray(column.chunk(0).to_numpy(zero_copy_only=True))
    return np.asarray(column.to_numpy())
