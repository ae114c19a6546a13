"""Gedik's Redist: of all tracked keys not yet placed, the one that is cheapest for its weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab.planners._gedik import GedikPlanner, add_key, find_extremes, rho_after


class RedistPlanner(GedikPlanner):
    """Place tracked keys from nothing, always the key and lane of least cost per weight.

    Scan fixes the order of the keys, Redist chooses it. Time is `O(tracked keys^2 x lanes)`.
    Parameters, references and our reading of them are those of `GedikPlanner`.

    Examples
    --------
    >>> from trimtab import Histogram
    >>> p = RedistPlanner(lanes=2).plan(Histogram.from_counts({2: 50, 4: 30, 6: 20}))
    >>> sorted(p.fragments(k)[0][0] == p.fragments(2)[0][0] for k in (4, 6))
    [False, False]

    Notes
    -----
    A tie goes to the heavier key, then to the lowest lane. Keys of no weight stay where they are.
    """

    name = "redist"
    # Its time grows with the square of the keys.
    known_keys_per_lane = 0.25
    prediction_note = "likely too high: it was shown few keys"
    cost = "tracked keys^2 x lanes"
    use_when = "whole keys; a rival of KIP that moves much"
    complexity = 120

    def _place(self, weights: NDArray[np.float64], before: NDArray[np.int32]) -> NDArray[np.int32]:
        return _redistribute(weights, before, self.lanes, self.theta)


@kernel
def _redistribute(
    weights: NDArray[np.float64], before: NDArray[np.int32], lanes: int, theta: float
) -> NDArray[np.int32]:
    lane_of = before.copy()
    loads, totals = np.zeros((2, lanes)), np.zeros(2)
    found = np.full((2, 6), -1)
    find_extremes(loads, found)
    waiting = np.empty(weights.size, dtype=np.int64)
    left = 0
    for i in range(weights.size):
        if weights[i] > 0.0:
            waiting[left] = i
            left += 1
    moved = 0.0
    while left > 0:
        chosen, best, cheapest = 0, 0, np.inf
        for k in range(left):
            weight = weights[waiting[k]]
            square = weight * weight
            for lane in range(lanes):
                cost = rho_after(loads, totals, found, -1, lane, weight, square, theta) + moved
                if lane != before[waiting[k]]:
                    cost += weight
                if cost / weight < cheapest:
                    chosen, best, cheapest = k, lane, cost / weight
        i = waiting[chosen]
        lane_of[i] = best
        if best != before[i]:
            moved += weights[i]
        add_key(loads, totals, best, weights[i])
        find_extremes(loads, found)
        left -= 1
        for k in range(chosen, left):
            waiting[k] = waiting[k + 1]
    return lane_of
