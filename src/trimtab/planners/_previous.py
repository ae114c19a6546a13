"""What the plan in force says, for planners that keep what they can of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.plan import Plan


def lanes_before(plan: Plan, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the lane of each key under `plan`; of a split key the lane of its largest fragment."""
    lanes = plan.hosts[(keys % np.uint64(plan.hosts.size)).astype(np.int64)]
    if plan.keys.size == 0:
        return lanes
    at = np.minimum(np.searchsorted(plan.keys, keys), plan.keys.size - 1)
    listed = np.flatnonzero(plan.keys[at] == keys)
    at = at[listed]
    starts = plan.starts[at]
    lanes[listed] = plan.lane_of[starts]
    ends = plan.starts[at + 1]
    for i in np.flatnonzero(ends - starts > 1):
        largest = starts[i] + np.argmax(plan.shares[starts[i] : ends[i]])
        lanes[listed[i]] = plan.lane_of[largest]
    return lanes


def hosts_before(plan: Plan, least: int) -> NDArray[np.int32]:
    """Return the lanes of the plan's hosts, repeated until there are at least `least` of them.

    A key's lane stays the same: with a multiple of the hosts, each stands for a part of an old one.
    """
    return np.tile(plan.hosts, -(-least // plan.hosts.size))
