"""Exact counts: a table from every key to its weight."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes
from trimtab._kernel import kernel
from trimtab._table import KeyTable, locate
from trimtab.sketches.base import Sketch, Stored, weighted


class ExactCounts(Sketch):
    """Count every key exactly.

    `estimate(key) = true weight(key)` and `distinct = true number of keys`, as long as weights are
    whole numbers with a sum below 2^53; other weights add up as doubles do, in order of arrival.
    Memory grows with the number of distinct keys: 40 to 64 bytes per key.

    Examples
    --------
    >>> import numpy as np
    >>> c = ExactCounts()
    >>> c.update(np.array([5, 9, 5], dtype=np.uint64))
    >>> c.update(np.array([9], dtype=np.uint64), weights=[2.5])
    >>> c.estimate(np.array([5, 9, 1], dtype=np.uint64)).tolist()
    [2.0, 3.5, 0.0]
    >>> c.distinct, c.total
    (2, 5.5)

    References
    ----------
    Holistic, Section 3.2.1 (the naive structure); Dalton, Section 5 (statistics by exact map).

    Notes
    -----
    A key of weight zero counts as seen.
    """

    name = "exact"

    def __init__(self) -> None:
        super().__init__()
        self._table = KeyTable()
        self._allocate()

    def _allocate(self) -> None:
        room = self._table.keys.size // 2
        self._keys: NDArray[np.uint64] = np.zeros(room, dtype=np.uint64)
        self._weights: NDArray[np.float64] = np.zeros(room)

    def update(self, hashes: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count tuples, each as one or by its weight (finite, >= 0)."""
        keys, given, step = weighted(hashes, weights)
        done = 0
        while True:
            table = self._table
            done = _update(
                keys,
                given,
                step,
                done,
                table.keys,
                table.slots,
                table.used,
                self._keys,
                self._weights,
            )
            if done == keys.size:
                break
            self._grow()
        self._total += float(given.sum()) if step else keys.size

    def _grow(self) -> None:
        held, old_keys, old_weights = len(self._table), self._keys, self._weights
        self._table.grow()
        self._allocate()
        self._keys[:held] = old_keys[:held]
        self._weights[:held] = old_weights[:held]

    def estimate(self, hashes: ArrayLike) -> NDArray[np.float64]:
        """Give the weight of each key, zero where it was never seen."""
        keys = key_hashes(hashes)
        found = np.empty(keys.size)
        _look_up(keys, self._table.keys, self._table.slots, self._weights, found)
        return found

    @property
    def distinct(self) -> int:
        """Number of distinct keys; exact."""
        return len(self._table)

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Give all keys, in order of first arrival, and their weights."""
        held = len(self._table)
        return self._keys[:held].copy(), self._weights[:held].copy()

    def merge(self, other: Self) -> Self:
        """Give the counts of both streams together; exact."""
        self._check_mergeable(other)
        made = type(self)()
        for part in (self, other):
            made.update(*part.items())
        made._total = self._total + other._total
        return made

    def clear(self) -> None:
        """Forget everything; the room shrinks to what the last filling needed."""
        self._table.clear()
        self._allocate()
        self._total = 0.0

    def _pack(self) -> dict[str, Any]:
        keys, weights = self.items()
        return {"keys": keys, "weights": weights}

    def _unpack(self, stored: Stored) -> None:
        keys = stored.keys("keys")
        weights = stored.weights("weights", keys.size)
        self._table.fill(keys, np.arange(keys.size, dtype=np.int32))
        self._allocate()
        self._keys[: keys.size] = keys
        self._weights[: keys.size] = weights


@kernel
def _update(
    hashes: NDArray[np.uint64],
    weights: NDArray[np.float64],
    step: int,
    start: int,
    table_keys: NDArray[np.uint64],
    table_slots: NDArray[np.int32],
    used: NDArray[np.int64],
    held_keys: NDArray[np.uint64],
    held_weights: NDArray[np.float64],
) -> int:
    for i in range(start, hashes.size):
        key = hashes[i]
        at = locate(table_keys, table_slots, key)
        slot = np.int64(table_slots[at])
        if slot < 0:
            slot = used[0]
            if slot == held_keys.size:
                return i
            used[0] += 1
            table_keys[at] = key
            table_slots[at] = slot
            held_keys[slot] = key
        held_weights[slot] += weights[i * step]
    return hashes.size


@kernel
def _look_up(
    hashes: NDArray[np.uint64],
    table_keys: NDArray[np.uint64],
    table_slots: NDArray[np.int32],
    held_weights: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    for i in range(hashes.size):
        slot = table_slots[locate(table_keys, table_slots, hashes[i])]
        found[i] = held_weights[slot] if slot >= 0 else 0.0
