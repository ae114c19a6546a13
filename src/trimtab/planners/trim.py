"""Trim: split only what must be split, keep what is in place, level the rest by its hosts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._key_arrays import host_of
from trimtab._leveling import LIGHT, LaneLists, move_hosts, pieces_needed, place_keys
from trimtab._parameters import CAPACITIES, LANES, SPLIT, Parameter, Real, Whole
from trimtab.histogram import Histogram
from trimtab.plan import Plan, tail_by_host
from trimtab.planners._previous import hosts_before
from trimtab.planners.base import Planner

NOISE_SIGMAS = 4.0
"""A lane that is over its limit by less than this many standard deviations of its row count is not
called overloaded: on a stationary stream the next batch differs by as much."""

TOLERANCE = Parameter(
    "tolerance",
    0.015,
    Real(0, 1, low_open=True, high_open=True),
    "how far above its target a lane may come; more moves less state",
)
HOSTS_PER_LANE = Parameter(
    "hosts_per_lane", 64, Whole(1, 4096), "hosts for the tail, per lane; more fill gaps finer"
)


class TrimPlanner(Planner):
    """Our own planner: level lanes with the fewest pieces and the fewest moves.

    A key whose share exceeds `1 / lanes` is split over `ceil(share x lanes)` lanes, no more. The
    next heaviest keys are placed whole, where they were if they fit. The tail is moved host by
    host, by measured weights where the histogram has them. The expected load of every lane is at
    most `(1 + tolerance) x max(total / lanes, heaviest whole key)` whenever keys lighter than the
    tolerance exist to fill the gaps. A plan that is still level, noise allowed for, is returned
    unchanged.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    split
        Whether hot keys may be split. Without it every key is whole and the heaviest key is the
        floor.
    tolerance
        How far above its target a lane may come, in (0, 1). Higher moves less state.
    hosts_per_lane
        Hosts for the tail, per lane, 1 or more. More hosts fill gaps finer, in a longer array.
    capacities
        Relative speed of each lane; by default all lanes are equal.

    Examples
    --------
    >>> h = Histogram.from_counts({1: 50.0, 2: 30.0, **{k: 1.0 for k in range(10, 30)}})
    >>> p = TrimPlanner(lanes=4).plan(h)
    >>> len(p.fragments(1)), len(p.fragments(2)), p.loads(h).tolist()
    (2, 2, [25.0, 25.0, 25.0, 25.0])

    Notes
    -----
    Beyond the papers. From KIP come hosts and "keep, else hash place, else least loaded"; from
    Prompt the splitting of hot keys, but into as few pieces as their share asks for; new are the
    noise test, measured hosts, and the second splitting below.

    Whole keys just under `1 / lanes` can make a level packing impossible (three keys of 2/3 on
    two lanes). Then a lane's overflow, and only that, is split off the lightest key covering it.
    """

    name = "trim"
    paper = "Trimtab"
    takes = (LANES, SPLIT, TOLERANCE, HOSTS_PER_LANE, CAPACITIES)
    cost = "heavy keys and hosts, each x lanes"
    state_in_words = "the last plan"
    use_when = "you do not know: fewest pieces, fewest moves"
    complexity = 150

    def __init__(
        self,
        lanes: int,
        split: bool = True,
        tolerance: float = 0.015,
        hosts_per_lane: int = 64,
        capacities: ArrayLike | None = None,
    ) -> None:
        super().__init__(lanes)
        self.split = self._check(SPLIT, split)
        self.splits_keys = self.split
        self.tolerance = self._check(TOLERANCE, tolerance)
        self.hosts_per_lane = self._check(HOSTS_PER_LANE, hosts_per_lane)
        self.capacities = self._check(CAPACITIES, capacities)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return a planner of whole keys."""
        return ({"split": False},)

    @property
    def hosts(self) -> int:
        """Number of hosts of a first plan: what statistics should count by."""
        return self.lanes * self.hosts_per_lane

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        sigmas = NOISE_SIGMAS if histogram.unit == "rows" else 0.0
        return self._made(histogram, previous, sigmas)

    def _plan_exactly(self, histogram: Histogram, previous: Plan | None) -> Plan:
        return self._made(histogram, previous, 0.0)

    def _made(self, histogram: Histogram, previous: Plan | None, noise_sigmas: float) -> Plan:
        targets = self._targets(histogram)
        noise = noise_sigmas * np.sqrt(2.0 * targets)
        if previous is not None and self._still_level(histogram, previous, targets, noise):
            return previous
        base = previous if previous is not None else Plan(self.lanes, hosts=self._first_hosts())
        return self._level(histogram, base, targets)

    def _first_hosts(self) -> NDArray[np.int32]:
        # Host i on lane i mod lanes is plain hashing, so the first plan moves only what it must.
        return np.arange(self.hosts, dtype=np.int32) % np.int32(self.lanes)

    def _targets(self, histogram: Histogram) -> NDArray[np.float64]:
        """Return the most weight that each lane should get; a key that stays whole must fit."""
        even = histogram.total / self.lanes
        heaviest = float(histogram.weights[0]) if len(histogram) else 0.0
        floor = heaviest if not self.split else 0.0
        return np.asarray(max(even, floor, 1e-300) * self.capacities)

    def _tolerance(self, histogram: Histogram, targets: NDArray[np.float64]) -> float:
        """Return the tolerance as a part of the targets; it is meant as a part of an even share."""
        return self.tolerance * min(1.0, histogram.total / self.lanes / float(targets.mean()))

    def _still_level(
        self,
        histogram: Histogram,
        plan: Plan,
        targets: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> bool:
        if plan.splits_keys and not self.split:
            return False
        if np.union1d(plan.hosts, plan.lane_of).size < self.lanes:
            return False  # it was made for fewer lanes: that some have nothing is no noise
        allowed = targets * (1.0 + self._tolerance(histogram, targets)) + noise
        if (plan.loads(histogram) > allowed).any():
            return False
        pieces = np.diff(plan.starts)
        split_keys = plan.keys[pieces > 1]
        weights = dict(zip(histogram.hashes.tolist(), histogram.weights.tolist(), strict=True))
        now = np.array([weights.get(key, 0.0) for key in split_keys.tolist()])
        # A key that is split over twice the lanes it needs costs merges for nothing.
        needed = np.maximum(1.0, np.ceil(now / targets.mean()))
        return not bool((pieces[pieces > 1] > 2.0 * needed).any())

    def _level(self, histogram: Histogram, base: Plan, targets: NDArray[np.float64]) -> Plan:
        # A plan with few hosts, such as plain hashing, is refined first: every key stays in place.
        hosts = hosts_before(base, self.hosts)
        tolerance = self._tolerance(histogram, targets)
        _, listed = base.find(histogram.hashes)
        light = LIGHT * float(targets.mean())
        heavy = (histogram.weights >= light) | (listed & (histogram.weights >= 0.5 * light))
        keys, weights = histogram.hashes[heavy], np.array(histogram.weights[heavy])
        old = _old_lanes(keys, base)
        host_weights = tail_by_host(histogram, hosts.size)
        stay = host_of(histogram.hashes[~heavy], hosts.size)
        np.add.at(host_weights, stay, histogram.weights[~heavy])

        had = np.diff(old.starts).astype(np.int32)
        if self.split:
            needed = pieces_needed(weights, had, float(targets.mean()), tolerance)
            needed = np.minimum(needed, np.int32(self.lanes))
        else:
            needed = np.ones(keys.size, dtype=np.int32)
        lane_of = np.empty(int(needed.sum()), dtype=np.int32)
        key_loads = np.zeros(self.lanes)
        host_loads = np.bincount(hosts, host_weights, self.lanes).astype(np.float64)
        place_keys(weights, needed, old, key_loads, host_loads, targets, tolerance, lane_of)
        loads = key_loads + host_loads
        move_hosts(host_weights, hosts, loads, targets, tolerance)
        starts = np.zeros(keys.size + 1, dtype=np.int32)
        np.cumsum(needed, out=starts[1:])
        shares = np.repeat(1.0 / needed, needed)
        plan = Plan.from_arrays(self.lanes, keys, starts, lane_of, shares, hosts, self.name)
        if self.split and (loads > targets * (1.0 + tolerance)).any():
            plan = self._shave(plan, keys, weights, loads, targets)
        return plan

    def _shave(
        self,
        plan: Plan,
        keys: NDArray[np.uint64],
        weights: NDArray[np.float64],
        loads: NDArray[np.float64],
        targets: NDArray[np.float64],
    ) -> Plan:
        """Relieve lanes that whole keys overfill: split just the excess off one of their keys."""
        places = {key: dict(fragments) for key, fragments in plan.all_fragments().items()}
        weight_of = dict(zip(keys.tolist(), weights.tolist(), strict=True))
        for _ in range(2 * self.lanes):
            lane = int(np.argmax(loads / targets))
            empty = int(np.argmin(loads / targets))
            excess = loads[lane] - targets[lane] * (1.0 + 0.5 * self.tolerance)
            room = targets[empty] * (1.0 + 0.5 * self.tolerance) - loads[empty]
            here = [(weight_of[k] * s[lane], k) for k, s in places.items() if lane in s]
            if loads[lane] <= targets[lane] * (1.0 + self.tolerance) or not here or room <= 0:
                break
            covering = [pair for pair in here if pair[0] > excess]
            piece, key = min(covering) if covering else max(here)
            amount = min(piece, excess, room)
            shares = places[key]
            part = amount / weight_of[key]
            shares[empty] = shares.get(empty, 0.0) + part
            shares[lane] -= part
            if shares[lane] < 1e-9 or math.isclose(amount, piece):
                shares[empty] += shares.pop(lane)
            loads[lane] -= amount
            loads[empty] += amount
        return Plan(
            plan.lanes, {k: list(s.items()) for k, s in places.items()}, plan.hosts, self.name
        )


def _old_lanes(keys: NDArray[np.uint64], base: Plan) -> LaneLists:
    """Return the lanes where each key is now, by its fragments or by its host."""
    pieces = base.pieces(keys)
    starts = np.zeros(keys.size + 1, dtype=np.int32)
    np.cumsum(np.bincount(pieces.key, minlength=keys.size), out=starts[1:])
    return LaneLists(starts, pieces.lane[np.argsort(pieces.key, kind="stable")])
