"""Gedik's Readj: start from what is in place, then move or swap keys while that pays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab.planners._gedik import GedikPlanner, add_key, find_extremes, rho_after

ROUNDS_PER_KEY = 8
"""Every change lowers the imbalance, so the search ends; this ends it early in odd cases."""

ROUNDING = 1e-9
"""A smaller gain in balance, relative, may be the arithmetic's and is not worth moving a key."""


class ReadjPlanner(GedikPlanner):
    """Leave tracked keys where they are, then make the most rewarding change again and again.

    A change moves one key, or swaps two keys of different lanes. Those that lower the imbalance are
    compared by the cost they save per weight moved. The search ends when the balance constraint
    holds, or when no change lowers the imbalance. Time is
    `O(tracked keys x (tracked keys + lanes))` per change. Parameters, references and our reading of
    them are those of `GedikPlanner`.

    Examples
    --------
    >>> from trimtab import Histogram, Plan
    >>> h = Histogram.from_counts({2: 50, 4: 30, 6: 20})
    >>> p = ReadjPlanner(lanes=2).plan(h, previous=Plan(2))
    >>> p.loads(h).tolist()
    [50.0, 50.0]

    Notes
    -----
    The cost only chooses among the changes that lower the imbalance: as in the program of Zvara et
    al., one of them is made even if the state it moves costs more than the balance it brings. That
    is why Readj moves more state than the others. With a search that stops there it would move far
    less, and be far less level.

    The weight moved by a swap is taken as the difference of its two keys, as the balance sees it.
    A tie goes to the heavier key that moves, then to moves before swaps, then to the lowest lane,
    then to the heavier key that comes back. Keys of no weight stay where they are.
    """

    name = "readj"
    settles_within = 0.2
    cost = "tracked keys x (tracked keys + lanes) per change"
    use_when = "whole keys with state; a rival of KIP"
    complexity = 130

    def _place(self, weights: NDArray[np.float64], before: NDArray[np.int32]) -> NDArray[np.int32]:
        return _readjust(weights, before, self.lanes, self.theta)


@kernel
def _readjust(
    weights: NDArray[np.float64], before: NDArray[np.int32], lanes: int, theta: float
) -> NDArray[np.int32]:
    lane_of = before.copy()
    loads, totals = np.zeros((2, lanes)), np.zeros(2)
    found = np.full((2, 6), -1)
    for i in range(weights.size):
        add_key(loads, totals, lane_of[i], weights[i])
    for _ in range(ROUNDS_PER_KEY * weights.size):
        find_extremes(loads, found)
        rho = rho_after(loads, totals, found, 0, 0, 0.0, 0.0, theta)
        if rho <= 1.0:
            break
        most, key, back, goal = -np.inf, -1, -1, -1
        for i in range(weights.size):
            here = lane_of[i]
            relieves = here == found[0, 0] or here == found[1, 0]
            for k in range(lanes + weights.size):
                # First every lane to move to, then every key to swap with.
                other = k - lanes
                there = k if other < 0 else lane_of[other]
                # Only a change of the highest lane or the lowest can lower the imbalance.
                if there == here or not (relieves or there == found[0, 3] or there == found[1, 3]):
                    continue
                returned = weights[other] if other >= 0 else 0.0
                if returned >= weights[i] or (other >= 0 and returned <= 0.0):
                    continue
                change = weights[i] - returned
                squared = weights[i] * weights[i] - returned * returned
                new = rho_after(loads, totals, found, here, there, change, squared, theta)
                if new >= rho * (1.0 - ROUNDING):
                    continue
                saved = rho - new - _migration(weights[i], before[i], here, there)
                if other >= 0:
                    saved -= _migration(returned, before[other], there, here)
                if saved / change > most:
                    most, key, back, goal = saved / change, i, other, there
        if key < 0:
            break
        source = lane_of[key]
        returned = weights[back] if back >= 0 else 0.0
        change = weights[key] - returned
        squared = weights[key] * weights[key] - returned * returned
        loads[0, source] -= change
        loads[0, goal] += change
        loads[1, source] -= squared
        loads[1, goal] += squared
        lane_of[key] = goal
        if back >= 0:
            lane_of[back] = source
    return lane_of


@kernel
def _migration(weight: float, before: int, here: int, there: int) -> float:
    """Return by how much the moved weight grows when a key goes from one lane to another."""
    if here == before:
        return weight
    return -weight if there == before else 0.0
