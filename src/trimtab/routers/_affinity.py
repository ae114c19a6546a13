"""Group affinity: a key stays where its window's first tuple went. What am and cam share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import choice, kernel
from trimtab._table import Table, home, locate
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.routers._cardinality import BITS, CardinalityRouter, Sketch, add_to_sketch
from trimtab.sketches.hyperloglog import rank_of, register_of


class AffinityRouter(CardinalityRouter):
    """Send a known key to the lane that has it, and a new key to its least loaded candidate.

    Subclasses say what load is.
    """

    splits_keys = False
    decides_once = True
    cost = "a table look-up per tuple, a hash per choice and new key"

    def __init__(
        self, lanes: int, choices: int = 2, cardinality: str = "exact", seed: int = 0
    ) -> None:
        super().__init__(lanes, choices, cardinality, seed)
        self.splits_keys = self.cardinality == "hll"

    @abstractmethod
    def _load(self) -> NDArray[Any]:
        """Return the array of which a new key takes its least candidate."""

    @abstractmethod
    def _burdens(
        self, histogram: Histogram, hosts: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return by how much each known key, and each host of the tail, adds to that array."""

    def decide(self, histogram: Histogram) -> Plan:
        """Decide once for each key of a window, so that all tasks can follow.

        Where every task has a router of its own, a key may get a lane in each. Who has counted the
        window's keys beforehand decides here for all of them, by this router's rule: each key goes
        to its least loaded candidate, heaviest first. Keys that the histogram does not name go by
        host, and a host is decided as a key is. No key is split; what the router has learned from
        tuples plays no part.

        >>> from trimtab import Histogram, router
        >>> counts = Histogram.from_counts({n: 100 // n for n in range(1, 50)})
        >>> plan = router("cam", lanes=4, choices=4, seed=1).decide(counts)
        >>> plan.splits_keys, plan.loads(counts).tolist()
        (False, [109.0, 108.0, 106.0, 107.0])
        """
        hosts = HOSTS_PER_LANE * self.lanes
        measured = histogram.host_weights
        if measured is not None:
            hosts = measured.size
        names = np.concatenate([histogram.hashes, np.arange(hosts, dtype=np.uint64)])
        lane_of = np.empty(names.size, dtype=np.int32)
        burdens = np.concatenate(self._burdens(histogram, hosts))
        _decide(names, burdens, np.zeros(self.lanes), self._salts, lane_of)
        keys = len(histogram)
        return Plan.whole_keys(
            self.lanes, histogram.hashes, lane_of[:keys], lane_of[keys:], maker=self.name
        )

    @property
    def _slot_limit(self) -> int:
        return self.lanes

    def _route_exact(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], start: int, table: Table
    ) -> int:
        tallies = (self._loads, self._distinct, self._load())
        return int(_exact(hashes, lanes, start, tallies, table, self._salts))

    def _route_estimated(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], sketch: Sketch
    ) -> None:
        tallies = (self._loads, self._distinct, self._load())
        _estimated(hashes, lanes, tallies, sketch, self._salts)


HOSTS_PER_LANE = 64
"""Hosts of the tail per lane, where the histogram was not counted by host."""

_BLOCK = 32
"""Tuples looked up together, so that their ways through memory overlap."""

Tallies = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[Any]]


@kernel
def _exact(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    start: int,
    tallies: Tallies,
    table: Table,
    salts: NDArray[np.uint64],
) -> int:
    loads, distinct, load = tallies
    keys, slots, used = table
    n, mask = np.uint64(loads.size), np.uint64(keys.size - 1)
    for begin in range(start, hashes.size, _BLOCK):
        end = min(begin + _BLOCK, hashes.size)
        # The first look has no branch. Most keys are found at home; the others get -1 and are
        # searched for below. A lane that is found here stays right: a key keeps its lane.
        for i in range(begin, end):
            at = home(hashes[i], mask)
            lanes[i] = slots[at] if keys[at] == hashes[i] else np.int32(-1)
        for i in range(begin, end):
            if lanes[i] < 0:
                key = hashes[i]
                at = np.uint64(locate(keys, slots, key))
                if slots[at] < 0:
                    if 2 * used[0] >= keys.size:
                        return i
                    lane = np.uint64(choice(key, salts[0], n))
                    for c in range(1, salts.size):
                        other = np.uint64(choice(key, salts[c], n))
                        if load[other] < load[lane]:
                            lane = other
                    keys[at] = key
                    slots[at] = lane
                    used[0] += 1
                    distinct[lane] += 1.0
                lanes[i] = slots[at]
            loads[np.uint64(lanes[i])] += 1
    return hashes.size


@kernel
def _decide(
    keys: NDArray[np.uint64],
    burdens: NDArray[np.float64],
    load: NDArray[np.float64],
    salts: NDArray[np.uint64],
    lane_of: NDArray[np.int32],
) -> None:
    n = np.uint64(load.size)
    for i in range(keys.size):
        lane = np.uint64(choice(keys[i], salts[0], n))
        for c in range(1, salts.size):
            other = np.uint64(choice(keys[i], salts[c], n))
            if load[other] < load[lane]:
                lane = other
        lane_of[i] = lane
        load[lane] += burdens[i]


@kernel
def _estimated(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    tallies: Tallies,
    sketch: Sketch,
    salts: NDArray[np.uint64],
) -> None:
    loads, distinct, load = tallies
    registers = sketch[0]
    n = np.uint64(loads.size)
    for i in range(hashes.size):
        key = hashes[i]
        register, rank = np.uint64(register_of(key, BITS)), rank_of(key, BITS)
        lane = np.uint64(choice(key, salts[0], n))
        seen = rank <= registers[lane, register]
        c = 1
        while not seen and c < salts.size:
            other = np.uint64(choice(key, salts[c], n))
            seen = rank <= registers[other, register]
            if seen or load[other] < load[lane]:
                lane = other
            c += 1
        if not seen:
            add_to_sketch(sketch, distinct, lane, register, rank)
        lanes[i] = lane
        loads[lane] += 1
