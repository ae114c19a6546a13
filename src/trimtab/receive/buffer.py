"""The batch that is being received: its rows, and the counts of its keys, which grow with it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trimtab._key_arrays import host_of
from trimtab.histogram import Histogram
from trimtab.keys import hash_keys
from trimtab.receive.records import Rejected
from trimtab.routers.base import Router
from trimtab.sketches.exact import ExactCounts

PLANNED_KEYS_PER_BLOCK = 2048
"""The heaviest keys of a batch are planned one by one, the others by host: all keys of a batch that
is skewed, and so many of one that is not that planning takes a hundredth of a second."""


class Buffer:
    """Rows of one batch, in the order of their arrival, and what is known of their keys.

    Counts are exact, and are kept as chunks come: when the batch ends, they are there. Where a
    router decides, each row has its lane as soon as it is here.

    Parameters
    ----------
    schema, key
        Columns of the rows, and those that make the key.
    first
        Number of the first record.
    router
        Who places the rows one by one; None where a plan will.

    Attributes
    ----------
    end
        One past the number of the last record.
    opened
        When the first record came, in Unix seconds.
    rows, bytes
        Size so far; bytes as Arrow holds the rows.
    rejected
        Records that were none, with their numbers.
    """

    def __init__(
        self, schema: pa.Schema, key: tuple[str, ...], first: int, router: Router | None = None
    ) -> None:
        self.schema, self.key = schema, list(key)
        self.first = self.end = first
        self.opened = 0.0
        self.router = router
        self.rows = self.bytes = self.rejected_bytes = 0
        self.rejected: list[tuple[int, Rejected]] = []
        self.counts = ExactCounts()
        self._tables: list[Any] = []
        self._hashes: list[NDArray[np.uint64]] = []
        self._lanes: list[NDArray[np.int32]] = []

    def add(self, first: int, records: int, table: pa.Table, rejected: list[Rejected]) -> None:
        """Take the rows of a chunk, and count their keys.

        Parameters
        ----------
        first, records
            Number of its first record, and how many there are.
        table, rejected
            What became of them.
        """
        if self.empty:
            self.opened = time.time()
        self.end = first + records
        for each in rejected:
            self.rejected.append((first + each.line, each))
            self.rejected_bytes += len(each.text)
        if not table.num_rows:
            return
        hashes = hash_keys(table.select(self.key))
        self.counts.update(hashes)
        if self.router is not None:
            self._lanes.append(self.router.route(hashes))
        self._tables.append(table)
        self._hashes.append(hashes)
        self.rows += table.num_rows
        self.bytes += table.nbytes

    @property
    def empty(self) -> bool:
        """Whether no record has come, be it a bad one."""
        return self.first == self.end

    def histogram(self, hosts: int, known: int) -> Histogram:
        """Return the counts: the heaviest keys one by one, all together by so many hosts."""
        keys, weights = self.counts.items()
        by_host = np.bincount(host_of(keys, hosts), weights, hosts)
        distinct, total = keys.size, float(weights.sum())
        if keys.size > known:
            heaviest = np.argpartition(weights, keys.size - known)[keys.size - known :]
            keys, weights = keys[heaviest], weights[heaviest]
        return Histogram.from_counts(
            (keys, weights), total=total, distinct=distinct, host_weights=by_host
        )

    def hashes(self) -> NDArray[np.uint64]:
        """Return the key hash of each row."""
        return np.concatenate(self._hashes) if self._hashes else np.empty(0, dtype=np.uint64)

    def lanes(self) -> NDArray[np.int32]:
        """Return the lane that the router gave each row."""
        return np.concatenate(self._lanes) if self._lanes else np.empty(0, dtype=np.int32)

    def cut(self, lanes: NDArray[np.int32], blocks: int) -> list[pa.Table]:
        """Return the rows of each block, in the order of their arrival."""
        table = pa.concat_tables([self.schema.empty_table(), *self._tables])
        # numpy sorts small numbers in place of their digits, which takes a tenth of the time.
        small = lanes.astype(np.uint16) if blocks <= 1 << 16 else lanes
        rows = table.take(pa.array(np.argsort(small, kind="stable")))
        ends = np.cumsum(np.bincount(lanes, minlength=blocks))
        return [
            rows.slice(end - size, size)
            for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)
        ]
