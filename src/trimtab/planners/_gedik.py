"""What Gedik's three planners share: tracked keys, the ring, and the cost they minimise."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import Index, inline, kernel
from trimtab._parameters import LANES, Parameter, Real, Whole
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners._previous import lanes_before
from trimtab.planners._ring import REPLICAS, tail_hosts
from trimtab.planners.base import Planner

THETA = Parameter(
    "theta", 0.2, Real(0, low_open=True), "how far lanes may differ; more moves less state"
)
HEAVY_PER_LANE = Parameter(
    "heavy_per_lane", 2, Whole(0), "keys per lane that are tracked; more level better, take longer"
)


class GedikPlanner(Planner):
    """A ring for all keys, and an explicit lane for each tracked key, chosen by a utility.

    The cost of a placement is `rho + gamma`. `rho` is the imbalance of the tracked keys: the cube
    root of the product of the three resources' `(max - min) / (theta x mean)`, each at most 1 where
    the balance constraint holds. `gamma` is the tracked weight that changes lane, in units of a
    lane's even share of it.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    theta
        Balance constraint, > 0, the same for all three resources. More lets lanes differ more and
        moves less state.
    heavy_per_lane
        How many keys per lane are tracked, 0 or more. More give a better balance and cost time.
    replicas
        Points per lane on the ring, 1 or more. More make the tail more even.

    References
    ----------
    Gedik, "Partitioning functions for stateful data parallelism in stream processing", The VLDB
    Journal 23(4), 2014. Settings from Zvara et al., "System-aware dynamic partitioning for batch
    and streaming workloads", 2021, Section 5.

    Notes
    -----
    Our reading of "linear resource functions": a key's state grows with its frequency f, and so
    does the work per tuple. The three loads of a key are then f (memory), f^2 (processing) and f
    (communication).

    Only tracked keys count for the balance; the ring is trusted with the rest, which is why these
    planners fall behind where the tail matters. Keys that were tracked and are no longer go back to
    the ring; as this cannot be avoided it does not enter the cost. A previous plan's hosts stay, so
    that a stream that starts from plain hashing is not moved to a ring.
    """

    paper = "Gedik, VLDB Journal 2014"
    takes = (LANES, THETA, HEAVY_PER_LANE, REPLICAS)
    state_in_words = "the last plan"

    def __init__(
        self, lanes: int, theta: float = 0.2, heavy_per_lane: int = 2, replicas: int = 100
    ) -> None:
        super().__init__(lanes)
        self.theta = self._check(THETA, theta)
        self.heavy_per_lane = self._check(HEAVY_PER_LANE, heavy_per_lane)
        self.replicas = self._check(REPLICAS, replicas)

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        hosts = tail_hosts(previous, self.lanes, self.replicas)
        keys = histogram.hashes[: self.heavy_per_lane * self.lanes]
        weights = histogram.weights[: keys.size]
        before = lanes_before(Plan(self.lanes, hosts=hosts) if previous is None else previous, keys)
        lane_of = before
        if keys.size and weights[0] > 0:
            # In units of the mean lane neither resource depends on the unit of the weights.
            lane_of = self._place(weights * (self.lanes / weights.sum()), before)
        return Plan.whole_keys(self.lanes, keys, lane_of, hosts, self.name)

    @abstractmethod
    def _place(self, weights: NDArray[np.float64], before: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the lane of each tracked key; weights fall and have a mean of one per lane."""


@inline
def add_key(
    loads: NDArray[np.float64], totals: NDArray[np.float64], lane: Index, weight: float
) -> None:
    """Add a key to a lane: its weight to the first resource, the square of it to the second."""
    square = weight * weight
    loads[0, lane] += weight
    loads[1, lane] += square
    totals[0] += weight
    totals[1] += square


@kernel
def find_extremes(loads: NDArray[np.float64], found: NDArray[np.int64]) -> None:
    """Write, per resource, the lanes of the three highest loads and the three lowest; -1 if none.

    With three of each, the extremes after a change of any two lanes are known without a search.
    """
    found[:] = -1
    for resource in range(loads.shape[0]):
        here, best = loads[resource], found[resource]
        for lane in range(here.size):
            at = lane
            for k in range(3):
                if at >= 0 and (best[k] < 0 or here[at] > here[best[k]]):
                    best[k], at = at, best[k]
            at = lane
            for k in range(3, 6):
                if at >= 0 and (best[k] < 0 or here[at] < here[best[k]]):
                    best[k], at = at, best[k]


@inline
def rho_after(
    loads: NDArray[np.float64],
    totals: NDArray[np.float64],
    found: NDArray[np.int64],
    source: int,
    target: int,
    change: float,
    change_squared: float,
    theta: float,
) -> float:
    """Return rho after a change of load is taken from lane `source` (-1: it is new) to `target`.

    Row 0 of `loads` is the sum of f per lane, row 1 the sum of f^2; `found` is of `find_extremes`.
    """
    lanes = loads.shape[1]
    product = 1.0
    for resource in range(2):
        here, best = loads[resource], found[resource]
        step = change if resource == 0 else change_squared
        high = low = here[target] + step
        total = totals[resource]
        if source >= 0:
            high, low = max(high, here[source] - step), min(low, here[source] - step)
        else:
            total += step
        for k in range(3):
            if best[k] >= 0 and best[k] != source and best[k] != target:
                high = max(high, here[best[k]])
                break
        for k in range(3, 6):
            if best[k] >= 0 and best[k] != source and best[k] != target:
                low = min(low, here[best[k]])
                break
        part = (high - low) * lanes / (theta * total) if total > 0.0 else 0.0
        # Memory and communication are the same sum of f.
        product *= part * part if resource == 0 else part
    return float(np.cbrt(product))
