"""Hybrid imbalance minimisation (LM): tuples and distinct keys weighed against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import choice, inline, kernel
from trimtab._parameters import LANES, SEED, Parameter, Real
from trimtab._table import Table, locate
from trimtab.routers._cardinality import (
    BITS,
    CARDINALITY,
    CHOICES,
    CardinalityRouter,
    Sketch,
    add_to_sketch,
)
from trimtab.sketches.hyperloglog import rank_of, register_of

P = Parameter("p", 0.5, Real(0, 1), "weight of tuples against distinct keys")


class LmRouter(CardinalityRouter):
    """Send each tuple to that of its key's candidates with the least hybrid load.

    The hybrid load of a lane is `p L' + (1 - p) C'`, where `L'` and `C'` are its tuples and its
    distinct keys in this window, each scaled to 0..1 between the least and the greatest of all
    lanes. A key is on at most `choices` lanes in a window.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    choices
        Candidates per key, 1..31. More candidates level the hybrid load better and replicate
        more; 1 is plain hashing.
    p
        Weight of the tuples, 0..1. At 1 the lanes are level in tuples, as with pkg; at 0 in
        distinct keys, as with cm.
    cardinality
        "exact" remembers the keys of the window; "hll" keeps 4,096 bytes per lane whatever the
        number of keys, and compares estimates.
    seed
        Chooses the hash functions.

    Examples
    --------
    >>> import numpy as np
    >>> r = LmRouter(lanes=4, p=0.5, seed=1)
    >>> lanes = r.route(np.arange(1000, dtype=np.uint64) // np.uint64(2))
    >>> bool(np.ptp(np.bincount(lanes)) < 20), bool(np.ptp(r.distinct()) < 20)
    (True, True)

    References
    ----------
    Holistic, Section 4.3, Algorithm 5 with Equations 7 to 9 (LM-2).

    Notes
    -----
    Algorithm 5 prints the unscaled `p L + (1 - p) C`; the text beside it refers to Equation 9,
    which scales both. We take Equation 9: it is the definition of the hybrid load that is to be
    levelled. While all lanes are equal in one of the two, that one counts zero for each of them.
    A tie goes to the first candidate. When two hash functions name the same lane, that lane counts
    the key once. `advance` ends the window.
    """

    name = "lm"
    paper = "Holistic, Algorithm 5"
    takes = (LANES, CHOICES, P, CARDINALITY, SEED)
    cost = "a table look-up, and a hash per choice and tuple"
    use_when = "tuples and distinct keys cost alike"
    complexity = 330

    def __init__(
        self,
        lanes: int,
        choices: int = 2,
        p: float = 0.5,
        cardinality: str = "exact",
        seed: int = 0,
    ) -> None:
        super().__init__(lanes, choices, cardinality, seed)
        self.p = self._check(P, p)

    def _route_exact(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], start: int, table: Table
    ) -> int:
        tallies = (self._loads, self._distinct)
        return int(_exact(hashes, lanes, start, tallies, table, self._salts, self.p))

    def _route_estimated(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], sketch: Sketch
    ) -> None:
        tallies = (self._loads, self._distinct)
        _estimated(hashes, lanes, tallies, sketch, self._salts, self.p)


Tallies = tuple[NDArray[np.int64], NDArray[np.float64]]


@inline
def _extremes(values: NDArray[Any]) -> tuple[float, int, float]:
    """Return the least value, how many lanes have it, and the greatest value."""
    low = high = float(values[0])
    ties = 0
    for lane in range(values.size):
        value = float(values[lane])
        if value < low:
            low, ties = value, 0
        if value == low:
            ties += 1
        high = max(high, value)
    return low, ties, high


@inline
def _after(
    values: NDArray[Any], before: float, now: float, extremes: tuple[float, int, float]
) -> tuple[float, int, float]:
    """Return the extremes after one value went from `before` to `now`.

    The lanes are searched again only when the last of the least lanes has left. A tuple count rises
    by one at a time, so this happens once per `lanes` tuples or less often.
    """
    low, ties, high = extremes
    if before == low:
        ties -= 1
    # An estimate may fall when HyperLogLog goes from empty registers to the sum of all.
    if ties == 0 or now < before:
        return _extremes(values)
    return low, ties, max(high, now)


@inline
def _hybrid(
    load: float,
    distinct: float,
    load_extremes: tuple[float, int, float],
    distinct_extremes: tuple[float, int, float],
    p: float,
) -> float:
    low, _, high = load_extremes
    fewest, _, most = distinct_extremes
    # Where all lanes are equal the numerator is zero, and so must the quotient be.
    tuples = (load - low) / (high - low if high > low else 1.0)
    keys = (distinct - fewest) / (most - fewest if most > fewest else 1.0)
    return p * tuples + (1.0 - p) * keys


@kernel
def _exact(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    start: int,
    tallies: Tallies,
    table: Table,
    salts: NDArray[np.uint64],
    p: float,
) -> int:
    loads, distinct = tallies
    keys, slots, used = table
    n = np.uint64(loads.size)
    by_load, by_keys = _extremes(loads), _extremes(distinct)
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
        # As in cm: of several positions with one lane the first is taken every time.
        lane, position = np.uint64(choice(key, salts[0], n)), 0
        least = _hybrid(float(loads[lane]), distinct[lane], by_load, by_keys, p)
        for c in range(1, salts.size):
            other = np.uint64(choice(key, salts[c], n))
            hybrid = _hybrid(float(loads[other]), distinct[other], by_load, by_keys, p)
            if hybrid < least:
                lane, position, least = other, c, hybrid
        bit = np.int32(1 << position)
        if not held & bit:
            slots[at] = held | bit
            before = distinct[lane]
            distinct[lane] = before + 1.0
            by_keys = _after(distinct, before, before + 1.0, by_keys)
        lanes[i] = lane
        count = float(loads[lane])
        loads[lane] += 1
        by_load = _after(loads, count, count + 1.0, by_load)
    return hashes.size


@kernel
def _estimated(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    tallies: Tallies,
    sketch: Sketch,
    salts: NDArray[np.uint64],
    p: float,
) -> None:
    loads, distinct = tallies
    registers = sketch[0]
    n = np.uint64(loads.size)
    by_load, by_keys = _extremes(loads), _extremes(distinct)
    for i in range(hashes.size):
        key = hashes[i]
        lane = np.uint64(choice(key, salts[0], n))
        least = _hybrid(float(loads[lane]), distinct[lane], by_load, by_keys, p)
        for c in range(1, salts.size):
            other = np.uint64(choice(key, salts[c], n))
            hybrid = _hybrid(float(loads[other]), distinct[other], by_load, by_keys, p)
            if hybrid < least:
                lane, least = other, hybrid
        register, rank = np.uint64(register_of(key, BITS)), rank_of(key, BITS)
        if rank > registers[lane, register]:
            before = distinct[lane]
            add_to_sketch(sketch, distinct, lane, register, rank)
            by_keys = _after(distinct, before, distinct[lane], by_keys)
        lanes[i] = lane
        count = float(loads[lane])
        loads[lane] += 1
        by_load = _after(loads, count, count + 1.0, by_load)
