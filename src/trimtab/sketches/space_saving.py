"""Space-Saving: the heaviest keys in a fixed number of counters, each an upper bound."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes, real, whole
from trimtab._kernel import inline, kernel
from trimtab._table import home
from trimtab.sketches.base import Sketch, Stored, weighted

_USED, _CURSOR, _WORK, _HEAPED = 0, 1, 2, 3
"""Places in `_marks`: counters in use; where the scan stands; what rescans have cost beyond what
tuples have paid for; whether the heap has taken over from the scan."""

_PAID_PER_TUPLE = 8
"""Counters looked at that an unknown key pays for: about what a heap of a thousand would cost."""

_PATIENCE = 16
"""Rescans on credit before the heap takes over; unit weights never need that many."""


class SpaceSaving(Sketch):
    """Find the heavy keys of a stream with `counters` counters.

    With n the weight of the stream and k the counters, for every key:
    `weight <= estimate <= weight + n/k`, and every key heavier than `n/k` is held. The bound is
    on the smallest counter, which never exceeds `n/k`. Each counter knows its own error, so
    `guaranteed` tells apart what is certain.

    Parameters
    ----------
    counters
        k, 1 or more. The error falls as 1/k; memory is about 50 bytes per counter, and a tuple of
        an unknown key costs O(log k).

    Examples
    --------
    >>> import numpy as np
    >>> s = SpaceSaving(counters=2)
    >>> s.update(np.array([7, 7, 7, 8, 9], dtype=np.uint64))
    >>> sorted(zip(*(part.tolist() for part in s.items())))
    [(7, 3.0), (9, 2.0)]
    >>> s.guaranteed(share=0.5).tolist()
    [7]

    References
    ----------
    Metwally et al., ICDT 2005, which DR (Section 2) has as its baseline; merging: Agarwal et al.,
    Mergeable Summaries, PODS 2012.

    Notes
    -----
    Among equal smallest counters the one with the lowest number is given up. The paper's linked
    list of buckets serves unit weights only. Here a cursor runs over the counters that stand at the
    minimum, which is O(1) per tuple for unit weights since the minimum rises with every pass; where
    weights are so uneven that passes come too often, a heap takes over, put in order only when an
    unknown key needs its root. Which of the two is at work changes no result.
    """

    name = "space-saving"

    def __init__(self, counters: int) -> None:
        super().__init__()
        self.counters = whole("counters", counters, 1, 1 << 24)
        k = self.counters
        self._keys: NDArray[np.uint64] = np.zeros(k, dtype=np.uint64)
        self._weights: NDArray[np.float64] = np.zeros(k)
        self._errors: NDArray[np.float64] = np.zeros(k)
        self._heap: NDArray[np.int32] = np.zeros(k, dtype=np.int32)
        self._heap_weights: NDArray[np.float64] = np.zeros(k)
        self._marks: NDArray[np.int64] = np.array([0, k, 0, 0])
        self._floor: NDArray[np.float64] = np.zeros(1)
        size = 1 << (4 * k - 1).bit_length()
        self._slots: NDArray[np.int32] = np.full(size, -1, dtype=np.int32)

    def update(self, hashes: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count tuples, each as one or by its weight (finite, >= 0; zero is passed over)."""
        keys, given, step = weighted(hashes, weights)
        counters = _Counters(self._slots, self._keys, self._weights, self._errors)
        heap = _Heap(self._heap, self._heap_weights)
        _update(keys, given, step, counters, heap, self._marks, self._floor)
        self._total += float(given.sum()) if step else keys.size

    @property
    def smallest(self) -> float:
        """The most that a key can weigh without being held; zero while counters are free."""
        return float(self._weights.min()) if self.distinct == self.counters else 0.0

    @property
    def distinct(self) -> int:
        """Number of keys held: a lower bound of the distinct keys seen."""
        return int(self._marks[_USED])

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the held keys and their estimates, by counter."""
        held = self.distinct
        return self._keys[:held].copy(), self._weights[:held].copy()

    def errors(self) -> NDArray[np.float64]:
        """Return for each of `items()` by how much its estimate may be too high."""
        return self._errors[: self.distinct].copy()

    def estimate(self, hashes: ArrayLike) -> NDArray[np.float64]:
        """Return an upper bound of each key's weight."""
        keys = key_hashes(hashes)
        found = np.empty(keys.size)
        _look_up(keys, self._slots, self._keys, self._weights, self.smallest, found)
        return found

    def guaranteed(self, share: float) -> NDArray[np.uint64]:
        """Return the keys that certainly hold more than `share` (in [0, 1]) of the total."""
        least = real("share", share, 0, 1) * self._total
        keys, weights = self.items()
        return keys[weights - self.errors() > least]

    def merge(self, other: Self) -> Self:
        """Return a sketch of both streams together, with the bound of one that saw them all.

        A key held by one part only may weigh up to the other part's smallest counter there, which
        is added to estimate and error. The k largest are kept, the heaviest first.
        """
        self._check_mergeable(other)
        parts = (self, other)
        keys = np.unique(np.concatenate([part.items()[0] for part in parts]))
        weights, errors = np.zeros(keys.size), np.zeros(keys.size)
        for part in parts:
            held, counts = part.items()
            at = np.searchsorted(keys, held)
            missing = np.ones(keys.size, dtype=np.bool_)
            missing[at] = False
            weights[at] += counts
            errors[at] += part.errors()
            weights[missing] += part.smallest
            errors[missing] += part.smallest
        heaviest = np.lexsort((keys, -weights))[: self.counters]
        made = type(self)(self.counters)
        made._fill(keys[heaviest], weights[heaviest], errors[heaviest])
        made._total = self._total + other._total
        return made

    def _fill(
        self,
        keys: NDArray[np.uint64],
        weights: NDArray[np.float64],
        errors: NDArray[np.float64],
    ) -> None:
        held = keys.size
        self._keys[:held], self._weights[:held], self._errors[:held] = keys, weights, errors
        self._marks[:] = held, self.counters, 0, 0
        _index(self._keys[:held], self._slots)

    def _pack(self) -> dict[str, Any]:
        keys, weights = self.items()
        return {"keys": keys, "weights": weights, "errors": self.errors()}

    def _unpack(self, stored: Stored) -> None:
        keys = stored.keys("keys", self.counters)
        weights = stored.weights("weights", keys.size)
        errors = stored.weights("errors", keys.size)
        if (errors > weights).any():
            raise ValueError("an error is above its weight")
        self._fill(keys, weights, errors)


class _Counters(NamedTuple):
    """Key, weight and possible error of each counter, and the table that finds them by key."""

    slots: NDArray[np.int32]
    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]


class _Heap(NamedTuple):
    """Counters with the least first, and the weights that they had when they were put in order."""

    counters: NDArray[np.int32]
    weights: NDArray[np.float64]


@inline
def _find(slots: NDArray[np.int32], held: NDArray[np.uint64], key: np.uint64) -> np.uint64:
    """Return the place of `key` in the table, or the free place where it belongs."""
    mask = np.uint64(slots.size - 1)
    at = home(key, mask)
    while slots[at] >= 0 and held[slots[at]] != key:
        at = (at + np.uint64(1)) & mask
    return at


@inline
def _remove(slots: NDArray[np.int32], held: NDArray[np.uint64], key: np.uint64) -> None:
    """Take `key` out, moving later entries back so that no search meets a gap too early."""
    mask = np.uint64(slots.size - 1)
    gap = _find(slots, held, key)
    at = gap
    while True:
        at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            break
        # An entry may fill the gap unless its home lies after the gap, cyclically.
        from_home = (at - home(held[slots[at]], mask)) & mask
        if from_home >= ((at - gap) & mask):
            slots[gap] = slots[at]
            gap = at
    slots[gap] = -1


@inline
def _scan(
    weights: NDArray[np.float64], marks: NDArray[np.int64], floor: NDArray[np.float64]
) -> np.int64:
    """Return the lowest-numbered of the smallest counters.

    Weights only rise, so a counter that the cursor has passed is above the floor for good.
    """
    at = np.int64(marks[_CURSOR])
    marks[_WORK] = max(0, marks[_WORK] - _PAID_PER_TUPLE)
    while True:
        while at < weights.size and weights[at] != floor[0]:
            at += np.int64(1)
        if at < weights.size:
            break
        marks[_WORK] += weights.size
        least = weights[0]
        for j in range(weights.size):
            least = min(least, weights[j])
        floor[0] = least
        at = np.int64(0)
    marks[_CURSOR] = at
    return at


@inline
def _settle(
    heap: NDArray[np.int32],
    weights: NDArray[np.float64],
    top: int,
    counter: np.int64,
    weight: float,
) -> None:
    """Put a counter in place of the heap's entry `top`; the root is least by (weight, number).

    The gap sinks to the bottom along the lesser children and the counter rises from there: most
    counters end near the bottom, and the way down has no branch that a processor could mispredict.
    """
    size = heap.size
    at = np.int64(top)
    child = 2 * at + 2
    while child < size:
        left = child - 1
        child -= np.int64(
            (weights[left] < weights[child])
            | ((weights[left] == weights[child]) & (heap[left] < heap[child]))
        )
        heap[at] = heap[child]
        weights[at] = weights[child]
        at = child
        child = 2 * at + 2
    if child == size:
        heap[at] = heap[child - 1]
        weights[at] = weights[child - 1]
        at = child - 1
    while at > top:
        parent = (at - 1) >> 1
        if weights[parent] < weight or (weights[parent] == weight and heap[parent] < counter):
            break
        heap[at] = heap[parent]
        weights[at] = weights[parent]
        at = parent
    heap[at] = counter
    weights[at] = weight


@kernel
def _update(
    hashes: NDArray[np.uint64],
    tuple_weights: NDArray[np.float64],
    step: int,
    counters: _Counters,
    least_first: _Heap,
    marks: NDArray[np.int64],
    floor: NDArray[np.float64],
) -> None:
    slots, keys, weights, errors = counters
    heap, heap_weights = least_first
    for i in range(hashes.size):
        key, weight = hashes[i], tuple_weights[i * step]
        at = _find(slots, keys, key)
        counter = np.int64(slots[at])
        if counter >= 0:
            weights[counter] += weight
            continue
        if weight == 0.0:
            continue
        if marks[_USED] < keys.size:
            counter = marks[_USED]
            marks[_USED] += 1
            slots[at] = counter
            keys[counter] = key
            weights[counter] = weight
            continue
        if marks[_HEAPED] == 0:
            least = _scan(weights, marks, floor)
            if marks[_WORK] > _PATIENCE * keys.size:
                marks[_HEAPED] = 1
                for j in range(keys.size):
                    heap[j] = j
                    heap_weights[j] = weights[j]
                for j in range(keys.size // 2 - 1, -1, -1):
                    _settle(heap, heap_weights, j, np.int64(heap[j]), heap_weights[j])
        else:
            # Weights only rise, so what the heap remembers are lower bounds: a root that is up to
            # date is the least of all.
            least = np.int64(heap[0])
            while heap_weights[0] != weights[least]:
                _settle(heap, heap_weights, 0, least, weights[least])
                least = np.int64(heap[0])
        _remove(slots, keys, keys[least])
        keys[least] = key
        errors[least] = weights[least]
        weights[least] += weight
        slots[_find(slots, keys, key)] = least


@kernel
def _look_up(
    hashes: NDArray[np.uint64],
    slots: NDArray[np.int32],
    keys: NDArray[np.uint64],
    weights: NDArray[np.float64],
    otherwise: float,
    found: NDArray[np.float64],
) -> None:
    for i in range(hashes.size):
        counter = slots[_find(slots, keys, hashes[i])]
        found[i] = weights[counter] if counter >= 0 else otherwise


@kernel
def _index(keys: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
    for counter in range(keys.size):
        slots[_find(slots, keys, keys[counter])] = counter
