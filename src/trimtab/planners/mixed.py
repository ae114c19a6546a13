"""Mixed, of Fang et al.: hashing plus a routing table of bounded size, under a bound on load."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab._parameters import LANES, OrNone, Parameter, Real, Whole
from trimtab.histogram import Histogram
from trimtab.plan import Plan, tail_by_host
from trimtab.planners._previous import lanes_before
from trimtab.planners._ring import REPLICAS, tail_hosts
from trimtab.planners.base import Planner

SEARCH_STEPS = 12
"""Halvings in the search for theta: the bound is found to 1/4096 of what hashing gives."""

THETA = Parameter(
    "theta",
    None,
    OrNone(Real(0), "the smallest that can be met"),
    "allowed excess of a lane over the mean; more moves less state",
)
TABLE_PER_LANE = Parameter(
    "table_per_lane", 2, Whole(0), "keys in the routing table, per lane; more level better"
)


class MixedPlanner(Planner):
    """Move keys off lanes that exceed `(1 + theta) x mean`, keeping the routing table short.

    The plan lists only keys whose lane is not their hash lane, at most `table_per_lane x lanes`.
    Where the bound on load can be kept by moving whole keys it usually is; it is not guaranteed.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    theta
        Allowed excess of a lane over the mean, >= 0. None, the default, looks for the smallest one
        that can be met. More moves less state.
    table_per_lane
        Bound on the routing table (A_max), per lane, 0 or more. More give a better balance.
    replicas
        Points per lane on the ring of the hash function, 1 or more.

    Examples
    --------
    >>> h = Histogram.from_counts({2: 40, 4: 30, 6: 20, 8: 10})
    >>> p = MixedPlanner(lanes=2, theta=0.0).plan(h, previous=Plan(2))
    >>> p.loads(h).tolist(), len(p)
    ([50.0, 50.0], 2)

    References
    ----------
    Fang et al., "Parallel Stream Processing Against Workload Skewness and Variance", HPDC 2017
    (arXiv 1610.05121). Settings from Zvara et al., "System-aware dynamic partitioning for batch and
    streaming workloads", 2021, Section 5.

    Notes
    -----
    Our reading. A round has three steps. Clean: some entries of the table, lightest first, are
    dropped, and their keys return to their hash lanes. Prepare: every lane above the bound gives
    away keys, heaviest first, until it is below. Assign: these keys are placed heaviest first, each
    on the least loaded lane where it fits, if need be in exchange for lighter keys of that lane,
    which then wait in turn; a key that fits nowhere goes to the least loaded lane. Mixed begins
    with no cleaning and repeats the round with as many more entries cleaned as the table came out
    too long. State is taken to grow with load, so the paper's priority, load^1.5 over state, is the
    weight.

    Keys that may be moved are the `table_per_lane x lanes` heaviest and those in the table in force
    that the histogram still knows. What the table still lacks room for in the end is dropped,
    lightest first. Loads include the tail.

    Without theta, rounds that start from bare hashing look for the smallest theta whose bound they
    keep, by halving; it depends on the histogram only, so that a second plan for the same histogram
    changes nothing. The hash function is the previous plan's hosts, or a ring.
    """

    name = "mixed"
    paper = "Fang et al., HPDC 2017"
    takes = (LANES, THETA, TABLE_PER_LANE, REPLICAS)
    settles_within = 0.1
    cost = "keys of the table x lanes per round, some dozen rounds"
    state_in_words = "the last plan"
    use_when = "whole keys and a short routing table"
    complexity = 140

    def __init__(
        self,
        lanes: int,
        theta: float | None = None,
        table_per_lane: int = 2,
        replicas: int = 100,
    ) -> None:
        super().__init__(lanes)
        self.theta = self._check(THETA, theta)
        self.table_per_lane = self._check(TABLE_PER_LANE, table_per_lane)
        self.replicas = self._check(REPLICAS, replicas)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return a bound on load that is given, not looked for."""
        return ({"theta": 0.1},)

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        hosts = tail_hosts(previous, self.lanes, self.replicas)
        hashing = Plan(self.lanes, hosts=hosts)
        most = self.table_per_lane * self.lanes
        movable = np.arange(len(histogram)) < most
        if previous is not None:
            movable |= previous.find(histogram.hashes)[1]
        keys, weights = histogram.hashes[movable], histogram.weights[movable]
        light = histogram.hashes[~movable]
        fixed = np.zeros(self.lanes)
        np.add.at(fixed, hosts, tail_by_host(histogram, hosts.size))
        np.add.at(fixed, lanes_before(hashing, light), histogram.weights[~movable])
        hash_lane = lanes_before(hashing, keys)
        before = hash_lane if previous is None else lanes_before(previous, keys)
        theta = self.theta
        if theta is None:
            theta = self._least_theta(weights, hash_lane, fixed, most)
        lane_of = self._mix(weights, hash_lane, before, fixed, theta, most)
        listed = lane_of != hash_lane
        return Plan.whole_keys(self.lanes, keys[listed], lane_of[listed], hosts, self.name)

    def _mix(
        self,
        weights: NDArray[np.float64],
        hash_lane: NDArray[np.int32],
        before: NDArray[np.int32],
        fixed: NDArray[np.float64],
        theta: float,
        most: int,
    ) -> NDArray[np.int32]:
        """Repeat the round, cleaning more and more of the table, until it is short enough."""
        table = np.flatnonzero(before != hash_lane)
        clean = 0
        while True:
            lane_of = before.copy()
            cleaned = table[table.size - clean :]
            lane_of[cleaned] = hash_lane[cleaned]
            _rebalance(weights, lane_of, fixed, theta)
            listed = np.flatnonzero(lane_of != hash_lane)
            too_many = listed.size - most
            if too_many <= 0:
                return lane_of
            if clean == table.size:
                lane_of[listed[most:]] = hash_lane[listed[most:]]
                return lane_of
            clean = min(table.size, clean + too_many)

    def _least_theta(
        self,
        weights: NDArray[np.float64],
        hash_lane: NDArray[np.int32],
        fixed: NDArray[np.float64],
        most: int,
    ) -> float:
        loads = fixed + np.bincount(hash_lane, weights, self.lanes)
        mean = float(loads.mean())
        if mean <= 0:
            return 0.0
        low, high = 0.0, float(loads.max()) / mean - 1.0
        for _ in range(SEARCH_STEPS):
            theta = (low + high) / 2
            lane_of = self._mix(weights, hash_lane, hash_lane, fixed, theta, most)
            loads = fixed + np.bincount(lane_of, weights, self.lanes)
            if float(loads.max()) <= mean * (1.0 + theta):
                high = theta
            else:
                low = theta
        return high


@kernel
def _rebalance(
    weights: NDArray[np.float64],
    lane_of: NDArray[np.int32],
    fixed: NDArray[np.float64],
    theta: float,
) -> None:
    """Prepare and assign; weights fall, `lane_of` is changed in place."""
    lanes, keys = fixed.size, weights.size
    loads = fixed.copy()
    for i in range(keys):
        loads[lane_of[i]] += weights[i]
    bound = loads.sum() / lanes * (1.0 + theta)
    waiting = np.zeros(keys, dtype=np.bool_)
    for i in range(keys):
        if loads[lane_of[i]] > bound and weights[i] > 0.0:
            waiting[i] = True
            loads[lane_of[i]] -= weights[i]
    exchanged = np.empty(keys, dtype=np.int64)
    # An exchange only makes lighter keys wait, so one pass, heaviest first, meets them all.
    for i in range(keys):
        if not waiting[i]:
            continue
        order = np.argsort(loads, kind="mergesort")
        best = order[0]
        for lane in order:
            count = _lighter_to_exchange(
                i, lane, weights, lane_of, waiting, loads[lane], bound, exchanged
            )
            if count >= 0:
                best = lane
                for k in range(count):
                    waiting[exchanged[k]] = True
                    loads[lane] -= weights[exchanged[k]]
                break
        waiting[i] = False
        lane_of[i] = best
        loads[best] += weights[i]


@kernel
def _lighter_to_exchange(
    key: int,
    lane: int,
    weights: NDArray[np.float64],
    lane_of: NDArray[np.int32],
    waiting: NDArray[np.bool_],
    load: float,
    bound: float,
    exchanged: NDArray[np.int64],
) -> int:
    """Write the lighter keys that must leave the lane so that the key fits; -1 if it never does."""
    excess = load + weights[key] - bound
    count = 0
    for i in range(key + 1, weights.size):
        if excess <= 0.0:
            break
        if lane_of[i] == lane and not waiting[i] and 0.0 < weights[i] < weights[key]:
            exchanged[count] = i
            count += 1
            excess -= weights[i]
    return count if excess <= 0.0 else -1
