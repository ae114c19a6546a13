"""What the plan in force says, for planners that keep what they can of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._key_arrays import host_of
from trimtab.plan import Plan


def lanes_before(plan: Plan, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the lane of each key under `plan`; of a split key the lane of its largest fragment."""
    lanes = plan.hosts[host_of(keys, plan.hosts.size)]
    if len(plan) == 0:
        # Plain hashing, or a ring: asked for often, with many keys.
        return lanes
    at, is_heavy = plan.find(keys)
    listed = np.flatnonzero(is_heavy)
    starts, ends = plan.starts[at[listed]], plan.starts[at[listed] + 1]
    lanes[listed] = plan.lane_of[starts]
    for i in np.flatnonzero(ends - starts > 1):
        largest = starts[i] + np.argmax(plan.shares[starts[i] : ends[i]])
        lanes[listed[i]] = plan.lane_of[largest]
    return lanes


def hosts_before(plan: Plan, least: int) -> NDArray[np.int32]:
    """Return the lanes of the plan's hosts, repeated until there are at least `least` of them.

    A key's lane stays the same: with a multiple of the hosts, each stands for a part of an old one.
    """
    return np.tile(plan.hosts, -(-least // plan.hosts.size))
