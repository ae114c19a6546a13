"""Counters of single keys, in order of arrival: what Lossy Counting and DR's histogram share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import inline
from trimtab._table import Table


class Counters(NamedTuple):
    """Counters as kernels see them; they take the arrays out before their loops.

    Counter i belongs to `keys[i]`. `counts[i, 0]` is what it has counted, and `counts[i, 1]` the
    most that it may have missed before it began. The table finds the counter of a key.
    """

    table: Table
    keys: NDArray[np.uint64]
    counts: NDArray[Any]


@inline
def add_counter(
    table: Table,
    keys: NDArray[np.uint64],
    counts: NDArray[Any],
    at: np.int64,
    key: np.uint64,
    missed: float,
) -> np.int64:
    """Begin the counter of a key that belongs at position `at` of the table; there must be room."""
    slot = np.int64(table.used[0])
    table.used[0] += 1
    table.keys[at] = key
    table.slots[at] = slot
    keys[slot] = key
    counts[slot, 0] = 0
    counts[slot, 1] = missed
    return slot


class Part(NamedTuple):
    """One of several streams: its counters, and the most that a key without one may weigh in it."""

    keys: NDArray[np.uint64]
    counts: NDArray[Any]
    missed: Any


def added_up(parts: Sequence[Part]) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """Return the counters of all streams together: the keys of any of them, rising."""
    keys = np.unique(np.concatenate([part.keys for part in parts]))
    counts = np.zeros((keys.size, 2), dtype=parts[0].counts.dtype)
    for part in parts:
        at = np.searchsorted(keys, part.keys)
        missed = np.full(keys.size, part.missed, dtype=counts.dtype)
        missed[at] = part.counts[:, 1]
        counts[:, 1] += missed
        counts[at, 0] += part.counts[:, 0]
    return keys, counts
