"""Cardinality imbalance minimisation (CM): the candidate with the fewest distinct keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import choice, kernel
from trimtab._table import Table, locate
from trimtab.routers._cardinality import BITS, CardinalityRouter, Sketch, add_to_sketch
from trimtab.sketches.hyperloglog import rank_of, register_of


class CmRouter(CardinalityRouter):
    """Send each tuple to that of its key's candidates that holds the fewest distinct keys.

    A key is on at most `choices` lanes in a window. Distinct keys are spread evenly over the
    lanes; tuples are not looked at.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    choices
        Candidates per key, 1..31. More candidates level the distinct keys better and replicate
        more; 1 is plain hashing.
    cardinality
        "exact" remembers the keys of the window; "hll" keeps 4,096 bytes per lane whatever the
        number of keys, and compares estimates.
    seed
        Chooses the hash functions.

    Examples
    --------
    >>> import numpy as np
    >>> r = CmRouter(lanes=4, seed=1)
    >>> lanes = r.route(np.arange(1000, dtype=np.uint64))
    >>> r.distinct().tolist()
    [251.0, 250.0, 249.0, 250.0]

    References
    ----------
    Holistic, Section 4.1, Algorithm 2 (CM-2); "hll" is CM-2-H, Section 3.2.2.

    Notes
    -----
    A tie goes to the first candidate. When two hash functions name the same lane, that lane counts
    the key once. `advance` ends the window.
    """

    name = "cm"
    paper = "Holistic, Algorithm 2"
    cost = "a table look-up, and a hash per choice and tuple"
    use_when = "memory per distinct key is what fills a lane"
    complexity = 320

    def _route_exact(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], start: int, table: Table
    ) -> int:
        return int(_exact(hashes, lanes, start, self._loads, self._distinct, table, self._salts))

    def _route_estimated(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], sketch: Sketch
    ) -> None:
        _estimated(hashes, lanes, self._loads, self._distinct, sketch, self._salts)


@kernel
def _exact(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    start: int,
    loads: NDArray[np.int64],
    distinct: NDArray[np.float64],
    table: Table,
    salts: NDArray[np.uint64],
) -> int:
    keys, slots, used = table
    n = np.uint64(loads.size)
    for i in range(start, hashes.size):
        key = hashes[i]
        at = np.uint64(locate(keys, slots, key))
        held = slots[at]
        if held < 0:
            if 2 * used[0] >= keys.size:
                return i
            keys[at] = key
            slots[at] = held = np.int32(0)
            used[0] += 1
        # Only a strictly smaller value displaces a candidate, so of several positions with one
        # lane the first is taken every time, and its bit alone stands for the lane.
        lane, position = np.uint64(choice(key, salts[0], n)), 0
        for c in range(1, salts.size):
            other = np.uint64(choice(key, salts[c], n))
            if distinct[other] < distinct[lane]:
                lane, position = other, c
        bit = np.int32(1 << position)
        if not held & bit:
            slots[at] = held | bit
            distinct[lane] += 1.0
        lanes[i] = lane
        loads[lane] += 1
    return hashes.size


@kernel
def _estimated(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    loads: NDArray[np.int64],
    distinct: NDArray[np.float64],
    sketch: Sketch,
    salts: NDArray[np.uint64],
) -> None:
    registers = sketch[0]
    n = np.uint64(loads.size)
    for i in range(hashes.size):
        key = hashes[i]
        lane = np.uint64(choice(key, salts[0], n))
        for c in range(1, salts.size):
            other = np.uint64(choice(key, salts[c], n))
            if distinct[other] < distinct[lane]:
                lane = other
        register, rank = np.uint64(register_of(key, BITS)), rank_of(key, BITS)
        if rank > registers[lane, register]:
            add_to_sketch(sketch, distinct, lane, register, rank)
        lanes[i] = lane
        loads[lane] += 1
