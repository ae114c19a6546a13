"""Lossy Counting: every frequent key with a lower bound of its count; the rest is pruned."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes, real
from trimtab._kernel import kernel
from trimtab._table import KeyTable, locate, number_keys
from trimtab.sketches._counters import Counters, Part, add_counter, added_up
from trimtab.sketches.base import Sketch, Stored


class LossyCounting(Sketch):
    """Find the frequent keys, forgetting the rare ones at the end of every bucket of tuples.

    With n tuples seen, for every key: `count - epsilon n <= estimate <= count`, and every key seen
    more than `epsilon n` times is held. A bucket has `w = ceil(1/epsilon)` tuples; after the b-th
    at most `w (1 + ln b)` keys are held, which is the paper's `(1/epsilon) log(epsilon n)`; within
    a bucket at most w more.

    Parameters
    ----------
    epsilon
        In (0, 1]. A smaller epsilon finds rarer keys and holds more of them.

    Examples
    --------
    >>> import numpy as np
    >>> s = LossyCounting(epsilon=0.25)
    >>> s.update(np.array([7, 7, 8, 9, 7, 7, 9, 5], dtype=np.uint64))
    >>> [part.tolist() for part in s.items()]
    [[7], [4.0]]
    >>> s.estimate(np.array([7, 9], dtype=np.uint64)).tolist()
    [4.0, 0.0]

    References
    ----------
    Manku and Motwani, VLDB 2002, Section 4.2, which DR (Section 2) has as its baseline.

    Notes
    -----
    Tuples count one each: buckets are counted in tuples, so there are no weights. The programs of
    DR's authors call a counter "Lossy" that never prunes; this one does. A merge keeps the bound on
    counts; the bound on keys held then is the sum of both parts' until the next bucket ends.
    """

    name = "lossy-counting"

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = real("epsilon", epsilon, 0, 1, low_open=True)
        self._width = math.ceil(1 / self.epsilon)
        self._seen: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._fill(np.zeros(0, dtype=np.uint64), np.zeros((0, 2), dtype=np.int64))

    def _fill(self, keys: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        """Hold these keys, with room for as many new ones before the table must grow."""
        held = keys.size
        self._table = KeyTable()
        self._table.fill(keys, np.arange(held, dtype=np.int32))
        room = self._table.keys.size // 2
        self._keys: NDArray[np.uint64] = np.zeros(room, dtype=np.uint64)
        self._counts: NDArray[np.int64] = np.zeros((room, 2), dtype=np.int64)
        self._keys[:held] = keys
        self._counts[:held] = counts

    def update(self, hashes: ArrayLike) -> None:
        """Count tuples."""
        keys = key_hashes(hashes)
        done = 0
        while True:
            done = _update(keys, done, self._width, self._counters(), self._seen)
            if done == keys.size:
                break
            self._grow()
        self._total = float(self._seen[0])

    def _counters(self) -> Counters:
        return Counters(self._table.arrays, self._keys, self._counts)

    def _grow(self) -> None:
        held, keys, counts = len(self._table), self._keys, self._counts
        self._table.grow()
        room = self._table.keys.size // 2
        self._keys = np.zeros(room, dtype=np.uint64)
        self._counts = np.zeros((room, 2), dtype=np.int64)
        self._keys[:held] = keys[:held]
        self._counts[:held] = counts[:held]

    @property
    def distinct(self) -> int:
        """Number of keys held: a lower bound of the distinct keys seen."""
        return len(self._table)

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the held keys, in order of arrival, and their counts, which are lower bounds."""
        held = self.distinct
        return self._keys[:held].copy(), self._counts[:held, 0].astype(np.float64)

    def errors(self) -> NDArray[np.float64]:
        """Return for each of `items()` by how much its count may be too low."""
        return self._counts[: self.distinct, 1].astype(np.float64)

    def estimate(self, hashes: ArrayLike) -> NDArray[np.float64]:
        """Return a lower bound of each key's count."""
        keys = key_hashes(hashes)
        found = np.empty(keys.size)
        _look_up(keys, self._table.keys, self._table.slots, self._counts, found)
        return found

    def frequent(self, share: float) -> NDArray[np.uint64]:
        """Return all keys with at least `share` of the tuples, and none below `share - epsilon`."""
        least = (real("share", share, 0, 1) - self.epsilon) * self._total
        keys, counts = self.items()
        return keys[counts >= least]

    def merge(self, other: Self) -> Self:
        """Return a sketch of both streams together, with the bound of one that saw them all."""
        self._check_mergeable(other)
        keys, counts = added_up([self._part(), other._part()])
        made = type(self)(self.epsilon)
        made._seen[0] = self._seen[0] + other._seen[0]
        made._total = float(made._seen[0])
        frequent = counts.sum(axis=1) > made._seen[0] // self._width
        made._fill(keys[frequent], counts[frequent])
        return made

    def _part(self) -> Part:
        held = self.distinct
        # A key that was pruned, or never came, was there once per ended bucket at most.
        return Part(self._keys[:held], self._counts[:held], self._seen[0] // self._width)

    def _pack(self) -> dict[str, Any]:
        keys, counts, _ = self._part()
        return {"keys": keys, "counts": counts}

    def _unpack(self, stored: Stored) -> None:
        keys = stored.keys("keys")
        counts = stored.array("counts", np.int64, keys.size, 2)
        if (counts < [1, 0]).any():
            raise ValueError("a count is below one or an error below zero")
        self._seen[0] = int(self._total)
        self._fill(keys, counts)


@kernel
def _update(
    hashes: NDArray[np.uint64],
    start: int,
    width: int,
    counters: Counters,
    seen: NDArray[np.int64],
) -> int:
    """Count from `start` on; stop, and say where, when a new key finds no room."""
    table, keys, counts = counters
    table_keys, slots, used = table
    ended = seen[0] // width
    left = width - seen[0] % width
    for i in range(start, hashes.size):
        at = locate(table_keys, slots, hashes[i])
        slot = np.int64(slots[at])
        if slot < 0:
            if used[0] == keys.size:
                return i
            slot = add_counter(table, keys, counts, at, hashes[i], ended)
        counts[slot, 0] += 1
        seen[0] += 1
        left -= 1
        if left == 0:
            ended += 1
            left = width
            _prune(ended, counters)
    return hashes.size


@kernel
def _prune(ended: int, counters: Counters) -> None:
    """Forget the keys that may have come once per ended bucket or less; close the ranks."""
    table, keys, counts = counters
    kept = 0
    for slot in range(table.used[0]):
        if counts[slot, 0] + counts[slot, 1] > ended:
            keys[kept] = keys[slot]
            counts[kept, 0] = counts[slot, 0]
            counts[kept, 1] = counts[slot, 1]
            kept += 1
    if kept < table.used[0]:
        number_keys(table, keys, kept)


@kernel
def _look_up(
    hashes: NDArray[np.uint64],
    table_keys: NDArray[np.uint64],
    table_slots: NDArray[np.int32],
    counts: NDArray[np.int64],
    found: NDArray[np.float64],
) -> None:
    for i in range(hashes.size):
        slot = table_slots[locate(table_keys, table_slots, hashes[i])]
        found[i] = counts[slot, 0] if slot >= 0 else 0.0
