"""How fast lanes are, for planners that give each lane what it can carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.control.machines import NEWEST, LaneTimes
from trimtab.control.virtual_workers import ALIKE

STEPS = 20
"""Capacities are whole multiples of 1 / STEPS: smaller differences are noise, and would make a new
plan of every batch."""


@dataclass(frozen=True)
class LaneSpeeds:
    """Seconds that a row takes on each lane, smoothed from batch to batch.

    A lane of a plain shuffle runs on any machine, and all lanes come to look alike. Where something
    binds lanes to machines, such as files or caches that only one of them has, they do not.

    Attributes
    ----------
    costs
        Seconds per row of each lane; none before anything was measured.

    Examples
    --------
    >>> took = np.array([1.0, 1.0, 2.0])
    >>> times = LaneTimes(np.full(3, 100.0), np.zeros(3), took, ("a/0", "b/1", "c/2"))
    >>> LaneSpeeds().after(times).capacities().tolist()
    [1.2, 1.2, 0.6]
    """

    costs: tuple[float, ...] = ()

    @property
    def lanes(self) -> int:
        """Number of lanes that are known; 0 before anything was measured."""
        return len(self.costs)

    def after(self, times: LaneTimes) -> LaneSpeeds:
        """Return what is known after one more batch; another number of lanes starts anew."""
        known = times.measured & (times.rows > 0)
        if not known.any():
            return self
        now = times.seconds[known] / times.rows[known]
        if self.lanes == times.rows.size:
            costs = np.array(self.costs)
            costs[known] = (1 - NEWEST) * costs[known] + NEWEST * now
        else:
            # A lane that was not measured yet is taken for one in the middle.
            costs = np.full(times.rows.size, np.median(now))
            costs[known] = now
        return LaneSpeeds(tuple(costs.tolist()))

    def capacities(self) -> NDArray[np.float64]:
        """Return relative speeds, 1 on average; all 1 where lanes are alike."""
        costs = np.maximum(np.array(self.costs), 1e-12)
        speeds = 1 / costs
        if speeds.max() < ALIKE * speeds.min():
            return np.ones(self.lanes)
        return np.asarray(np.maximum(np.rint(speeds / speeds.mean() * STEPS), 1) / STEPS)
