"""Gedik's Scan: one pass over the tracked keys, each to the lane that costs least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab.planners._gedik import GedikPlanner, add_key, find_extremes, rho_after


class ScanPlanner(GedikPlanner):
    """Place tracked keys from nothing, heaviest first, each where it costs least.

    Time is `O(tracked keys x lanes)`. Parameters, references and our reading of them are those of
    `GedikPlanner`.

    Examples
    --------
    >>> from trimtab import Histogram
    >>> p = ScanPlanner(lanes=2).plan(Histogram.from_counts({2: 50, 4: 30, 6: 20}))
    >>> sorted(p.fragments(k)[0][0] == p.fragments(2)[0][0] for k in (4, 6))
    [False, False]

    Notes
    -----
    A tie goes to the lowest lane. Keys of no weight stay where they are.
    """

    name = "scan"
    cost = "tracked keys x lanes"
    use_when = "whole keys; a rival of KIP, the quickest of Gedik's"
    complexity = 110

    def _place(self, weights: NDArray[np.float64], before: NDArray[np.int32]) -> NDArray[np.int32]:
        return _scan(weights, before, self.lanes, self.theta)


@kernel
def _scan(
    weights: NDArray[np.float64], before: NDArray[np.int32], lanes: int, theta: float
) -> NDArray[np.int32]:
    lane_of = before.copy()
    loads, totals = np.zeros((2, lanes)), np.zeros(2)
    found = np.full((2, 6), -1)
    find_extremes(loads, found)
    moved = 0.0
    for i in range(weights.size):
        weight = weights[i]
        if weight <= 0.0:
            continue
        square = weight * weight
        best, cheapest = 0, np.inf
        for lane in range(lanes):
            cost = rho_after(loads, totals, found, -1, lane, weight, square, theta) + moved
            if lane != before[i]:
                cost += weight
            if cost < cheapest:
                best, cheapest = lane, cost
        lane_of[i] = best
        if best != before[i]:
            moved += weight
        add_key(loads, totals, best, weight)
        find_extremes(loads, found)
    return lane_of
