"""Exact counts: a table from every key to its weight."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes
from trimtab._kernel import inline, kernel
from trimtab._table import home
from trimtab.sketches.base import Sketch, Stored, weighted

_ENTRY = np.dtype([("key", np.uint64), ("weight", np.float64)])
_FREE = -1.0
"""Weight of a free place in the table; no key weighs less than nothing."""
_SMALLEST = 256


class ExactCounts(Sketch):
    """Count every key exactly.

    `estimate(key) = true weight(key)` and `distinct = true number of keys`, as long as weights are
    whole numbers with a sum below 2^53; other weights add up as doubles do, in order of arrival.
    Memory grows with the number of distinct keys: 36 to 72 bytes per key.

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
    A key of weight zero counts as seen. Key and weight lie side by side in the table, so that a
    tuple costs one visit to memory.
    """

    name = "exact"

    def __init__(self) -> None:
        super().__init__()
        self._allocate(_SMALLEST)

    def _allocate(self, size: int) -> None:
        self._table: NDArray[np.void] = np.zeros(size, dtype=_ENTRY)
        self._table["weight"] = _FREE
        self._places: NDArray[np.int32] = np.zeros(size // 2, dtype=np.int32)
        self._used: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    def update(self, hashes: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count tuples, each as one or by its weight (finite, >= 0)."""
        keys, given, step = weighted(hashes, weights)
        done = self._add(keys, given, step, 0)
        while done < keys.size:
            self._refill(*self.items(), 2 * self._table.size)
            done = self._add(keys, given, step, done)
        self._total += float(given.sum()) if step else keys.size

    def _add(
        self, keys: NDArray[np.uint64], weights: NDArray[np.float64], step: int, start: int
    ) -> int:
        return _update(keys, weights, step, start, self._table, self._places, self._used)

    def _refill(self, keys: NDArray[np.uint64], weights: NDArray[np.float64], size: int) -> None:
        """Hold exactly these keys, in a table of `size` places, at least twice as many."""
        self._allocate(size)
        self._add(keys, weights, 1, 0)

    def estimate(self, hashes: ArrayLike) -> NDArray[np.float64]:
        """Return the weight of each key, zero where it was never seen."""
        keys = key_hashes(hashes)
        found = np.empty(keys.size)
        _look_up(keys, self._table, found)
        return found

    @property
    def distinct(self) -> int:
        """Number of distinct keys; exact."""
        return int(self._used[0])

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return all keys, in order of first arrival, and their weights."""
        held = self._table[self._places[: self.distinct]]
        return np.ascontiguousarray(held["key"]), np.ascontiguousarray(held["weight"])

    def merge(self, other: Self) -> Self:
        """Return the counts of both streams together; exact."""
        self._check_mergeable(other)
        made = type(self)()
        for part in (self, other):
            made.update(*part.items())
        made._total = self._total + other._total
        return made

    def clear(self) -> None:
        """Forget everything; the room shrinks to what the last filling needed."""
        self._allocate(_size_for(self.distinct))
        self._total = 0.0

    def _pack(self) -> dict[str, Any]:
        keys, weights = self.items()
        return {"keys": keys, "weights": weights}

    def _unpack(self, stored: Stored) -> None:
        keys = stored.keys("keys")
        weights = stored.weights("weights", keys.size)
        self._refill(keys, weights, _size_for(keys.size))


def _size_for(keys: int) -> int:
    """Return the least power of two that is at most half full with so many keys."""
    return max(_SMALLEST, 1 << (2 * keys - 1).bit_length())


@inline
def _locate(table: NDArray[np.void], key: np.uint64) -> np.uint64:
    """Return the place of `key`, or the free place where it belongs."""
    mask = np.uint64(table.size - 1)
    at = home(key, mask)
    while table[at]["key"] != key and table[at]["weight"] >= 0.0:
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def _update(
    hashes: NDArray[np.uint64],
    weights: NDArray[np.float64],
    step: int,
    start: int,
    table: NDArray[np.void],
    places: NDArray[np.int32],
    used: NDArray[np.int64],
) -> int:
    for i in range(start, hashes.size):
        key, weight = hashes[i], weights[i * step]
        at = _locate(table, key)
        if table[at]["weight"] >= 0.0:
            table[at]["weight"] += weight
            continue
        if used[0] == places.size:
            return i
        table[at]["key"] = key
        table[at]["weight"] = weight
        places[used[0]] = at
        used[0] += 1
    return hashes.size


@kernel
def _look_up(
    hashes: NDArray[np.uint64], table: NDArray[np.void], found: NDArray[np.float64]
) -> None:
    for i in range(hashes.size):
        found[i] = max(0.0, table[_locate(table, hashes[i])]["weight"])
