"""KIP, the Key Isolator Partitioner: heavy keys one by one, the tail by weighted hosts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._kernel import kernel
from trimtab._key_arrays import host_of
from trimtab._parameters import CAPACITIES, LANES, Parameter, Real, Whole
from trimtab.histogram import Histogram
from trimtab.plan import Plan, tail_by_host
from trimtab.planners._previous import hosts_before, lanes_before
from trimtab.planners.base import Planner

ROUNDING = 1e-12
"""Shares add up to one only within rounding; a smaller excess does not count."""

HEAVY_PER_LANE = Parameter(
    "heavy_per_lane", 2, Whole(0), "keys per lane placed one by one; more level better"
)
SLACK = Parameter(
    "slack", 0.001, Real(0, 1, low_open=True), "room above the ideal; more moves less, less level"
)
HOSTS_PER_LANE = Parameter(
    "hosts_per_lane", 100, Whole(1, 1 << 16), "hosts for the tail, per lane; more fill gaps finer"
)


class KipPlanner(Planner):
    """Isolate the heaviest keys, fill up with hosts, change as little of the last plan as possible.

    No key is split. Expected loads are at most `max(1 / lanes, share of the heaviest key) + slack`
    of the total, as long as hosts are lighter than the slack and the heavy keys can be packed.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    heavy_per_lane
        How many keys per lane are placed one by one (lambda in the paper), 0 or more. More give a
        better balance and a longer table.
    slack
        How far above the ideal a lane's share may be (epsilon), in (0, 1]. More moves less state
        and leaves the lanes less level.
    hosts_per_lane
        Hosts for the tail, per lane, 1 or more. More fill gaps finer.
    capacities
        Relative speed of each lane, positive; by default all lanes are equal. Levels are then
        levels of load per capacity.

    Examples
    --------
    >>> h = Histogram.from_counts({4: 30, 8: 30, 12: 20}, total=100)
    >>> p = KipPlanner(lanes=4).plan(h)
    >>> [p.fragments(k)[0][0] for k in (4, 8, 12)], p.loads(h).round().tolist()
    ([0, 1, 2], [30.0, 30.0, 25.0, 15.0])

    References
    ----------
    Zvara et al., "System-aware dynamic partitioning for batch and streaming workloads", 2021,
    Section 4, Algorithm 1 (KIPUPDATE).

    Notes
    -----
    The first plan starts from `hosts[i] = i mod lanes`, which is plain hashing, so that only what
    is in the way moves. The authors' program changes the hash function at the first update and
    moves more than half of all state. A previous plan with fewer hosts is kept by repeating its
    hosts; a key it splits counts as being on the lane of its largest fragment.

    The paper takes all hosts to weigh the same. Where the histogram has measured host weights, or
    knows more keys than are isolated, their real weights are used: a lane then gives away its
    heaviest hosts that do not exceed its excess, then its lightest. Hosts that fit nowhere stay.

    The listing moves hosts to the first lanes with room. We take the emptiest lane instead. The
    first lanes would be filled to the brim, where the next batch's noise overflows them, and where
    the heaviest key sets the level the last lanes could stay empty.

    In the authors' program a heavy key may take an empty lane whatever its weight. Here this
    follows from the level, which no single key exceeds. With capacities a key that exceeds the
    level of its lane goes to the lane that it would fill least.
    """

    name = "kip"
    paper = "Dynamic Repartitioning, 2021, Algorithm 1"
    takes = (LANES, HEAVY_PER_LANE, SLACK, HOSTS_PER_LANE, CAPACITIES)
    cost = "heavy keys x lanes, and hosts x lanes where the tail must move"
    state_in_words = "the last plan"
    use_when = "whole keys with state; moves little"
    complexity = 100

    def __init__(
        self,
        lanes: int,
        heavy_per_lane: int = 2,
        slack: float = 0.001,
        hosts_per_lane: int = 100,
        capacities: ArrayLike | None = None,
    ) -> None:
        super().__init__(lanes)
        self.heavy_per_lane = self._check(HEAVY_PER_LANE, heavy_per_lane)
        self.slack = self._check(SLACK, slack)
        self.hosts_per_lane = self._check(HOSTS_PER_LANE, hosts_per_lane)
        self.capacities = self._check(CAPACITIES, capacities)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return a planner that places the tail alone."""
        return ({"heavy_per_lane": 0},)

    @property
    def hosts(self) -> int:
        """Number of hosts of a first plan: what statistics should count by."""
        return self.lanes * self.hosts_per_lane

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        base = Plan(self.lanes) if previous is None else previous
        hosts = hosts_before(base, self.hosts)
        total = histogram.total if histogram.total > 0 else 1.0
        heavy = self.heavy_per_lane * self.lanes
        keys = histogram.hashes[:heavy]
        shares = histogram.weights[:heavy] / total
        host_shares = tail_by_host(histogram, hosts.size) / total
        light = histogram.hashes[heavy:]
        if light.size:
            at = host_of(light, hosts.size)
            host_shares += np.bincount(at, histogram.weights[heavy:] / total, hosts.size)
        heaviest = float(shares[0]) if shares.size else 0.0
        level = max(1.0 / self.lanes, heaviest / float(self.capacities.max())) + self.slack
        lane_of = lanes_before(base, keys)
        hash_lane = hosts[host_of(keys, hosts.size)]
        _update(shares, lane_of, hash_lane, host_shares, hosts, level * self.capacities)
        return Plan.whole_keys(self.lanes, keys, lane_of, hosts, self.name)


@kernel
def _update(
    shares: NDArray[np.float64],
    lane_of: NDArray[np.int32],
    hash_lane: NDArray[np.int32],
    host_shares: NDArray[np.float64],
    hosts: NDArray[np.int32],
    limits: NDArray[np.float64],
) -> None:
    """Place keys, heaviest first, then hosts; `lane_of` and `hosts` are changed in place."""
    lanes = limits.size
    loads = np.zeros(lanes)
    for i in range(shares.size):
        lane = lane_of[i]
        if not loads[lane] < limits[lane] - shares[i]:
            lane = hash_lane[i]
            if not loads[lane] < limits[lane] - shares[i]:
                lane = 0
                for other in range(1, lanes):
                    filled = (loads[other] + shares[i]) / limits[other]
                    if filled < (loads[lane] + shares[i]) / limits[lane]:
                        lane = other
        lane_of[i] = lane
        loads[lane] += shares[i]
    for host in range(hosts.size):
        loads[hosts[host]] += host_shares[host]
    mine = np.empty(hosts.size, dtype=np.int64)
    for lane in range(lanes):
        if loads[lane] > limits[lane] + ROUNDING:
            count = 0
            for host in range(hosts.size):
                if hosts[host] == lane and host_shares[host] > 0.0:
                    mine[count] = host
                    count += 1
            falling = mine[:count][np.argsort(-host_shares[mine[:count]], kind="mergesort")]
            _relieve(lane, falling, host_shares, hosts, loads, limits)


@kernel
def _relieve(
    lane: int,
    falling: NDArray[np.int64],
    host_shares: NDArray[np.float64],
    hosts: NDArray[np.int32],
    loads: NDArray[np.float64],
    limits: NDArray[np.float64],
) -> None:
    """Move hosts of a lane to the emptiest lanes until the lane is within its limit."""
    # The heaviest that are no more than the excess, so that few move; then the lightest.
    for host in falling:
        share = host_shares[host]
        if share <= loads[lane] - limits[lane]:
            _move_host(host, share, hosts, loads, limits)
    for k in range(falling.size - 1, -1, -1):
        host = falling[k]
        if loads[lane] <= limits[lane] + ROUNDING:
            break
        if hosts[host] == lane:
            _move_host(host, host_shares[host], hosts, loads, limits)


@kernel
def _move_host(
    host: int,
    share: float,
    hosts: NDArray[np.int32],
    loads: NDArray[np.float64],
    limits: NDArray[np.float64],
) -> None:
    emptiest = 0
    for lane in range(1, loads.size):
        if loads[lane] / limits[lane] < loads[emptiest] / limits[emptiest]:
            emptiest = lane
    if loads[emptiest] < limits[emptiest] - share:
        loads[hosts[host]] -= share
        loads[emptiest] += share
        hosts[host] = emptiest
