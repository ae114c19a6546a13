"""Prompt's CountTree: keys kept nearly in order of their counts while a batch is still arriving."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes, whole
from trimtab._kernel import inline, kernel
from trimtab._table import KeyTable, Table, locate
from trimtab.errors import InvalidArgument
from trimtab.sketches.base import Sketch, Stored

_COUNT, _FILED, _COUNT_AT, _TIME_AT, _TIME_STEP, _LEFT = range(6)
"""Columns of a node: the count; the count it is filed under; the count and the time at which it is
filed again; its time step; moves left."""

_SEEN, _HIGHEST, _FIRST_STEP, _END, _BUDGET = range(5)
"""Places in `_marks`: tuples of this batch; the highest list in use; the first frequency step, the
last tick and the allowance of this batch."""

_MOST_AT_ONCE = 1 << 20
"""Keys that room is made for before any is seen; a wild guess shall not take the memory."""

_NEVER = (1 << 63) - 1
_OCTAVE = 512
"""Lists per doubling of the count. Counts below twice this have a list each."""
_LISTS = _OCTAVE * (2 + 53)
"""Enough for counts up to 2^62."""


class CountTree(Sketch):
    """Count the keys of a micro-batch and have them nearly sorted when it ends.

    Counts are exact. A key is filed under an older count of its own, never above its true count,
    and is moved at most `budget` times per batch, so that all moves together cost O(budget x keys)
    whatever the number of tuples. `heartbeat` gives the keys by falling filed count. While a
    key has moves left, its count is less than one frequency step ahead of the filed one.

    Parameters
    ----------
    expected_tuples, expected_keys
        Size of the first batch, 1 or more. Later batches expect the mean of the last `memory` ones.
    budget
        Moves per key and batch, 1 or more. More moves give a better order and cost more.
    interval
        Length of a batch in ticks, for `update` with times; None measures time in tuples.
    memory
        How many past batches the expectation is the mean of, 1 or more.

    Examples
    --------
    >>> import numpy as np
    >>> tree = CountTree(expected_tuples=8, expected_keys=3, budget=4)
    >>> tree.update(np.array([5, 6, 6, 6, 7, 6, 7, 6], dtype=np.uint64))
    >>> [part.tolist() for part in tree.heartbeat()]
    [[6, 7, 5], [5, 2, 1]]
    >>> tree.distinct
    0

    References
    ----------
    Prompt, Section 4.1 and Algorithm 1.

    Notes
    -----
    The paper keeps the filed counts in a balanced tree, O(log keys) per move. Counts are whole
    numbers that only grow, so one list per count gives the same order with O(1) moves; above 1,024
    a list holds a range of counts 0.2 % wide, and those few keys, at most one in 1,024 tuples, are
    put in order at the heartbeat. Keys filed under one count come with the last moved first.

    The algorithm's equalities are read as "reached"; steps are rounded up to whole tuples and
    ticks, and are at least one. Both kinds of move restart the clock of the time step, which the
    listing leaves out. The step's `budget` is the whole allowance in line 13 and what is left of it
    in line 19, as printed; a key without moves left stays where it is. Tuples themselves are not
    buffered here: the rows stay where they are.
    """

    name = "count-tree"

    def __init__(
        self,
        expected_tuples: int,
        expected_keys: int,
        budget: int = 8,
        interval: int | None = None,
        memory: int = 4,
    ) -> None:
        super().__init__()
        self.expected_tuples = whole("expected_tuples", expected_tuples, 1, 1 << 48)
        self.expected_keys = whole("expected_keys", expected_keys, 1, 1 << 30)
        self.budget = whole("budget", budget, 1, 1 << 20)
        self.interval = None if interval is None else whole("interval", interval, 1, 1 << 60)
        self.memory = whole("memory", memory, 1, 1 << 10)
        self._past: NDArray[np.int64] = np.zeros((0, 2), dtype=np.int64)
        self._begin(self.expected_keys)

    def _begin(self, expected: int) -> None:
        """Start a batch with empty structures that have room for as many keys."""
        # A KeyTable that expects k keys has 4k places; half of them is all that these need.
        self._table = KeyTable(min(expected, _MOST_AT_ONCE) // 2)
        self._marks: NDArray[np.int64] = np.zeros(5, dtype=np.int64)
        self._keys: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._nodes: NDArray[np.int64] = np.zeros((0, 6), dtype=np.int64)
        # Rings: the sentinels of all lists first, then the nodes; (newer, older) neighbours each.
        rings = np.arange(_LISTS, dtype=np.int32)
        self._links: NDArray[np.int32] = np.stack([rings, rings], axis=1)
        self._make_room()
        self._total = 0.0

    def _make_room(self) -> None:
        """Let nodes and links have as many places as the table may hold keys."""
        room = self._table.keys.size // 2
        self._keys = _lengthened(self._keys, room)
        self._nodes = _lengthened(self._nodes, room)
        self._links = _lengthened(self._links, _LISTS + room)

    def expectation(self) -> tuple[float, float]:
        """Return the tuples and the distinct keys that this batch is expected to have."""
        if self._past.shape[0] == 0:
            return float(self.expected_tuples), float(self.expected_keys)
        tuples, keys = self._past.mean(axis=0)
        return max(1.0, float(tuples)), max(1.0, float(keys))

    def update(self, hashes: ArrayLike, times: ArrayLike | None = None) -> None:
        """Count tuples.

        `times` are whole ticks since the batch began, one per tuple and never falling; they are
        needed if and only if the tree was made with an `interval`.
        """
        keys = key_hashes(hashes)
        ticks = self._ticks(times, keys.size)
        tuples, distinct = self.expectation()
        first_step = max(1, math.ceil(tuples / (distinct * self.budget)))
        end = math.ceil(tuples) if self.interval is None else self.interval
        self._marks[_FIRST_STEP:] = first_step, end, self.budget
        done = 0
        while True:
            filing = _Filing(self._table.arrays, self._keys, self._nodes, self._links)
            done = _update(keys, ticks, done, tuples / self.budget, filing, self._marks)
            if done == keys.size:
                break
            self._table.grow()
            self._make_room()
        self._total = float(self._marks[_SEEN])

    def _ticks(self, times: ArrayLike | None, size: int) -> NDArray[np.int64]:
        if self.interval is None:
            if times is not None:
                raise InvalidArgument("times were given; make the CountTree with an interval")
            return np.zeros(0, dtype=np.int64)
        ticks = np.asarray(times if times is not None else [])
        if ticks.shape != (size,) or (size and ticks.dtype.kind not in "iu"):
            raise InvalidArgument(
                f"times must be one whole number of ticks per hash; got {ticks.size} of type "
                f"{ticks.dtype} for {size} hashes"
            )
        if size and ticks.min() < 0:
            raise InvalidArgument(f"times count from the batch's begin; got {ticks.min()}")
        return ticks.astype(np.int64)

    @property
    def distinct(self) -> int:
        """Number of distinct keys in this batch; exact."""
        return len(self._table)

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the keys of this batch, in order of first arrival, and their exact counts."""
        held = self.distinct
        return self._keys[:held].copy(), self._nodes[:held, _COUNT].astype(np.float64)

    def filed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each of `items()` the count it is filed under and how often it was moved."""
        nodes = self._nodes[: self.distinct]
        return nodes[:, _FILED].copy(), self.budget - nodes[:, _LEFT]

    def quasi_sorted(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the keys by falling filed count, and their exact counts."""
        order, ranged = self._walk()
        # Lists of single counts come out in order; only the ranges above them need sorting.
        filed = self._nodes[order[:ranged], _FILED]
        order[:ranged] = order[:ranged][np.argsort(-filed, kind="stable")]
        return self._keys[order], self._nodes[order, _COUNT]

    def _walk(self) -> tuple[NDArray[np.int32], int]:
        """Return all nodes list by list, the highest first, and how many are in lists of ranges."""
        order = np.empty(self.distinct, dtype=np.int32)
        return order, _walk(self._links, int(self._marks[_HIGHEST]), order)

    def heartbeat(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """End the batch, begin the next one, and return the quasi-sorted list of the ended one."""
        batch = self.quasi_sorted()
        size = [[self._marks[_SEEN], self.distinct]]
        self._past = np.concatenate([self._past, size])[-self.memory :]
        self._begin(self.distinct)
        return batch

    def _pack(self) -> dict[str, Any]:
        held = self.distinct
        return {
            "keys": self._keys[:held],
            "nodes": self._nodes[:held],
            "order": self._walk()[0],
            "past": self._past,
        }

    def _unpack(self, stored: Stored) -> None:
        keys = stored.keys("keys")
        nodes = stored.array("nodes", np.int64, keys.size, 6)
        order = stored.array("order", np.int32, keys.size)
        past = stored.array("past", np.int64, None, 2)
        if (np.sort(order) != np.arange(keys.size)).any():
            raise ValueError("order must name every key once")
        if (nodes < 0).any() or (nodes[:, _FILED] < 1).any() or (past < 0).any():
            raise ValueError("a count is too small")
        if nodes[:, _COUNT].sum() != self._total or (nodes[:, _FILED] > nodes[:, _COUNT]).any():
            raise ValueError("the counts contradict each other")
        self._past = past[-self.memory :]
        self._table.fill(keys, np.arange(keys.size, dtype=np.int32))
        self._keys, self._nodes = keys, nodes
        self._make_room()
        self._marks[_SEEN] = int(self._total)
        self._marks[_HIGHEST] = _file_all(order, self._nodes, self._links)


def _lengthened(array: NDArray[Any], length: int) -> NDArray[Any]:
    made = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    kept = min(length, array.shape[0])
    made[:kept] = array[:kept]
    return made


def sorted_counts(sketch: Sketch) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Sort what a sketch holds by falling count: the post-sort that CountTree stands against.

    >>> import numpy as np
    >>> from trimtab.sketches.exact import ExactCounts
    >>> c = ExactCounts()
    >>> c.update(np.array([5, 6, 6, 7, 6, 7], dtype=np.uint64))
    >>> [part.tolist() for part in sorted_counts(c)]
    [[6, 7, 5], [3.0, 2.0, 1.0]]
    """
    hashes, counts = sketch.items()
    order = np.argsort(-counts, kind="stable")
    return hashes[order], counts[order]


@inline
def _list_of(count: int) -> int:
    """Return the list that holds a count: its own below 1,024, else 512 per doubling."""
    octave = 0
    while count >= 2 * _OCTAVE:
        count >>= 1
        octave += 1
    return octave * _OCTAVE + count


@inline
def _insert(links: NDArray[np.int32], ring: int, node: int | np.int64) -> None:
    """Put a node into the ring of a list as its newest."""
    newest = links[ring, 1]
    links[node, 0], links[node, 1] = ring, newest
    links[newest, 0], links[ring, 1] = node, node


class _Filing(NamedTuple):
    """The keys of a batch, their nodes, and the rings that file the nodes by count."""

    table: Table
    keys: NDArray[np.uint64]
    nodes: NDArray[np.int64]
    links: NDArray[np.int32]


@kernel
def _update(
    hashes: NDArray[np.uint64],
    ticks: NDArray[np.int64],
    start: int,
    tuples_per_move: float,
    filing: _Filing,
    marks: NDArray[np.int64],
) -> int:
    """Count from `start` on; stop, and say where, when a new key finds no room."""
    table_keys, table_slots, used = filing.table
    keys, nodes, links = filing.keys, filing.nodes, filing.links
    timed = ticks.size > 0
    end, budget = marks[_END], marks[_BUDGET]
    for i in range(start, hashes.size):
        key = hashes[i]
        at = locate(table_keys, table_slots, key)
        node = np.int64(table_slots[at])
        known = node >= 0
        if not known and used[0] == keys.size:
            return i
        now = ticks[i] if timed else marks[_SEEN]
        marks[_SEEN] += 1
        if known:
            count = nodes[node, _COUNT] + 1
            nodes[node, _COUNT] = count
            by_count = count >= nodes[node, _COUNT_AT]
            if not by_count and now < nodes[node, _TIME_AT]:
                continue
            # Lines 10-13 and 16-19 of the algorithm.
            newer, older = links[_LISTS + node, 0], links[_LISTS + node, 1]
            links[newer, 1], links[older, 0] = older, newer
            count_step = nodes[node, _COUNT_AT] - nodes[node, _FILED]
            left = nodes[node, _LEFT] - 1
            if left == 0:
                nodes[node, _COUNT_AT] = nodes[node, _TIME_AT] = _NEVER
            else:
                if by_count:
                    share = tuples_per_move * count / marks[_SEEN]
                    count_step = max(1, np.int64(math.ceil(share)))
                else:
                    nodes[node, _TIME_STEP] = max(1, -((now - end) // left))
                nodes[node, _COUNT_AT] = count + count_step
                nodes[node, _TIME_AT] = now + nodes[node, _TIME_STEP]
            nodes[node, _LEFT] = left
        else:
            # Lines 25-30.
            node, count = used[0], np.int64(1)
            used[0] += 1
            table_keys[at] = key
            table_slots[at] = node
            keys[node] = key
            time_step = max(1, -((now - end) // budget))
            nodes[node, _COUNT] = 1
            nodes[node, _COUNT_AT] = 1 + marks[_FIRST_STEP]
            nodes[node, _TIME_AT] = now + time_step
            nodes[node, _TIME_STEP] = time_step
            nodes[node, _LEFT] = budget
        nodes[node, _FILED] = count
        ring = _list_of(count)
        marks[_HIGHEST] = max(marks[_HIGHEST], ring)
        _insert(links, ring, _LISTS + node)
    return hashes.size


@kernel
def _walk(links: NDArray[np.int32], highest: int, order: NDArray[np.int32]) -> int:
    done, ranged = 0, 0
    for ring in range(highest, -1, -1):
        at = links[ring, 1]
        while at != ring:
            order[done] = at - _LISTS
            done += 1
            at = links[at, 1]
        if ring == 2 * _OCTAVE:
            ranged = done
    return ranged


@kernel
def _file_all(order: NDArray[np.int32], nodes: NDArray[np.int64], links: NDArray[np.int32]) -> int:
    highest = 0
    for i in range(order.size - 1, -1, -1):
        ring = _list_of(nodes[order[i], _FILED])
        highest = max(highest, ring)
        _insert(links, ring, _LISTS + order[i])
    return highest
