"""A lane's state as a stack of files: what is newer lies above, and hides what is below.

Every batch puts one file on top, which takes the place of the files just below that are not much
larger than itself. So files grow geometrically from top to bottom: a stack of `n` entries has
about `log(n / entries per batch)` files, an entry is written again about as often, and work per
batch follows the keys that are active.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trimtab.journal.keyed.entries import (
    AWAITED,
    GONE,
    HELD,
    NO_TIMEOUT,
    Entries,
    Longs,
    hidden_by,
    sorted_entries,
)
from trimtab.journal.keyed.lane_file import LaneFile, open_lane_file, write_lane_file
from trimtab.journal.store.base import Store

_GOLDEN = 0.6180339887498949


class Found(NamedTuple):
    """What is known of some keys, row by row: null and `GONE` for a key without an entry."""

    table: pa.Table
    kinds: NDArray[np.int8]
    timeouts: Longs


class Stack:
    """The state of one lane: files, and above them what the running batch adds.

    Parameters
    ----------
    store
        Where the files are.
    files
        The lane's files, the newest first.
    schema
        Columns of the entries. A file without some of its nullable columns is read with nulls.
    """

    def __init__(self, store: Store, files: Sequence[LaneFile], schema: pa.Schema) -> None:
        self.store = store
        self.files = tuple(files)
        self.schema = schema
        self._below = [open_lane_file(store, file) for file in files]
        self._added: list[Entries] = []

    @property
    def layers(self) -> list[Entries]:
        """All entries, the newest first."""
        return [*self._added, *self._below]

    def add(self, entries: pa.Table) -> None:
        """Put entries on top; of keys that stand there twice the first counts."""
        if entries.num_rows:
            self._added.insert(0, sorted_entries([self._fitted(entries)]))

    def look_up(self, hashes: Longs, checks: Longs) -> Found:
        """Return the newest entry of each key."""
        rows = np.full(hashes.size, -1, dtype=np.int64)
        parts, total = [], 0
        left = np.arange(hashes.size)
        for layer in self.layers:
            at = layer.find(hashes[left], checks[left])
            here = at >= 0
            if here.any():
                parts.append(self._fitted(layer.take(at[here])))
                rows[left[here]] = total + np.arange(int(here.sum()))
                total += int(here.sum())
                left = left[~here]
        if not parts:
            parts = [self.schema.empty_table()]
        whole = pa.concat_tables(parts).combine_chunks()
        table = whole.take(pa.array(rows, mask=rows < 0))
        kinds = table.column("kind").fill_null(GONE).to_numpy().astype(np.int8)
        timeouts = table.column("timeout").fill_null(NO_TIMEOUT).to_numpy()
        return Found(table, kinds, timeouts)

    def timed_out(self, before: int) -> pa.Table:
        """Return the entries whose timeout lies before a time, rising by key."""
        return self._chosen(
            lambda entries: (entries.timeouts != NO_TIMEOUT) & (entries.timeouts < before)
        )

    def leaving(self, lane: int, lane_of: Callable[[Longs], NDArray[np.int32]]) -> pa.Table:
        """Return the entries of keys that have something here and belong to another lane."""
        return self._chosen(
            lambda entries: (entries.kinds != GONE) & (lane_of(entries.hashes) != lane)
        )

    def _chosen(self, wanted: Callable[[Entries], NDArray[np.bool_]]) -> pa.Table:
        """Return the entries that a condition chooses, of those that no newer one hides."""
        found = [self.schema.empty_table()]
        layers = self.layers
        for depth, layer in enumerate(layers):
            rows = np.flatnonzero(wanted(layer))
            if rows.size:
                hidden = hidden_by(layers[:depth], layer.hashes[rows], layer.checks[rows])
                found.append(self._fitted(layer.take(rows[~hidden])))
        return sorted_entries(found).table

    def written(self, name: str, lane: int) -> tuple[LaneFile, ...]:
        """Write what was added as one file, and return the lane's files from then on.

        The file takes in the newest files as long as the next one is not much larger than what is
        being written. How much differs from lane to lane, so that not all lanes take in all their
        files in the same batch.
        """
        if not self._added:
            return self.files
        factor = 1.5 + (lane * _GOLDEN) % 1.0
        taken, rows = 0, sum(map(len, self._added))
        while taken < len(self.files) and self.files[taken].rows <= factor * rows:
            rows += self.files[taken].rows
            taken += 1
        layers = [*self._added, *self._below[:taken]]
        rest = self.files[taken:]
        tables = [self._fitted(layer.table) for layer in layers]
        entries = sorted_entries(tables, with_gone=bool(rest))
        if not len(entries):
            return rest
        return (write_lane_file(self.store, name, entries), *rest)

    def live(self) -> pa.Table:
        """Return the entries of all keys that have a state or a timeout, rising by key."""
        tables = [self._fitted(layer.table) for layer in self.layers]
        return sorted_entries([*tables, self.schema.empty_table()], with_gone=False).table

    def _fitted(self, table: pa.Table) -> pa.Table:
        """Return a table with this stack's columns; what an older file has not is null."""
        if table.schema.equals(self.schema):
            return table
        columns = [
            table.column(field.name).cast(field.type)
            if field.name in table.schema.names
            else pa.nulls(table.num_rows, field.type)
            for field in self.schema
        ]
        return pa.table(columns, schema=self.schema)


__all__ = ["AWAITED", "GONE", "HELD", "NO_TIMEOUT", "Found", "Stack"]
