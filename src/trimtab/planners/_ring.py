"""A consistent-hash ring written as the hosts of a plan."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel, word_at
from trimtab._parameters import Parameter, Whole
from trimtab.plan import Plan

HOSTS_PER_LANE = 128
"""At least this many hosts per lane: the arcs of 100 replicas per lane are met closely enough."""

REPLICAS = Parameter(
    "replicas", 100, Whole(1, 1 << 16), "points per lane on the ring; more make the tail more even"
)


@lru_cache(maxsize=16)  # the ring is a constant, and laying it takes longer than planning
def ring_hosts(lanes: int, replicas: int) -> NDArray[np.int32]:
    """Lay `replicas` points per lane on a ring and return the lane of each host.

    A key's place on the ring is its hash read from the lowest bit up, so a host, which is a
    remainder modulo a power of two, is an arc. It belongs to the lane whose point comes next. Lane
    `n` has the same points whatever the number of lanes: adding one takes arcs from all others and
    moves nothing else.

    >>> np.bincount(ring_hosts(4, 100)).tolist()
    [113, 134, 138, 127]
    """
    bits = max(0, (lanes * HOSTS_PER_LANE - 1).bit_length())
    points = _scrambled(np.arange(lanes * replicas, dtype=np.uint64))
    order = np.argsort(points)
    middles = _arc_middles(bits)
    after = np.searchsorted(points[order], middles) % points.size
    hosts = (order[after] // replicas).astype(np.int32)
    hosts.flags.writeable = False
    return hosts


def tail_hosts(previous: Plan | None, lanes: int, replicas: int) -> NDArray[np.int32]:
    """Return the hosts for the tail: those in force, or a new ring where there are none.

    The ring is the constant part of a partitioning function, so the hosts in force stay. A new ring
    is laid only if the highest lane has neither a host nor a key, which is so after lanes were
    added.
    """
    if previous is not None:
        highest = max(int(previous.hosts.max()), int(previous.lane_of.max(initial=0)))
        if highest == lanes - 1:
            return previous.hosts
    return ring_hosts(lanes, replicas)


@kernel
def _scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    points = np.empty(numbers.size, dtype=np.uint64)
    for i in range(numbers.size):
        points[i] = word_at(np.uint64(0), numbers[i] + np.uint64(1))
    return points


@kernel
def _arc_middles(bits: int) -> NDArray[np.uint64]:
    """Return the middle of the arc of each host on the ring of 2^64 places."""
    count = 1 << bits
    middles = np.empty(count, dtype=np.uint64)
    for host in range(count):
        place, rest = np.uint64(0), np.uint64(host)
        for _ in range(bits):
            place = (place << np.uint64(1)) | (rest & np.uint64(1))
            rest = rest >> np.uint64(1)
        middles[host] = ((place << np.uint64(1)) | np.uint64(1)) << np.uint64(63 - bits)
    return middles
