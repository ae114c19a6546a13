"""The kernel behind trim: place keys and hosts so that no lane passes its limit, moving little.

It is shared by the planner, which runs it once per batch, and the router, which runs it at every
window's end; both hand it plain arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import inline, kernel

LIGHT = 0.02
"""Keys below this part of a lane's target stay with their host: too small to be worth an entry."""


class LaneLists(NamedTuple):
    """Lanes of many keys: those of key i stand at `lanes[starts[i]:starts[i + 1]]`."""

    starts: NDArray[np.int32]
    lanes: NDArray[np.int32]


@inline
def _emptiest(
    loads: NDArray[np.float64], targets: NDArray[np.float64], taken: NDArray[np.uint8]
) -> int:
    """Return the lane with the lowest load for its target among those not taken, or -1."""
    best, lowest = -1, np.inf
    for lane in range(loads.size):
        if taken[lane] == 0:
            fill = loads[lane] / targets[lane]
            if fill < lowest:
                best, lowest = lane, fill
    return best


@kernel
def pieces_needed(
    weights: NDArray[np.float64], had: NDArray[np.int32], target: float, tolerance: float
) -> NDArray[np.int32]:
    """Return the number of lanes each key needs: ceil(weight / target), with some inertia.

    A key that was on one lane more than it needs now keeps it while its weight is within
    `tolerance` of needing it, so that a weight at the border does not move back and forth.
    """
    needed = np.ones(weights.size, dtype=np.int32)
    for i in range(weights.size):
        pieces = np.int32(np.ceil(weights[i] / (target * (1.0 + tolerance)))) if target > 0 else 1
        if had[i] == pieces + 1 and weights[i] > pieces * target * (1.0 - 2.0 * tolerance):
            pieces += 1
        needed[i] = max(1, pieces)
    return needed


@kernel
def place_keys(
    weights: NDArray[np.float64],
    needed: NDArray[np.int32],
    old: LaneLists,
    key_loads: NDArray[np.float64],
    host_loads: NDArray[np.float64],
    targets: NDArray[np.float64],
    tolerance: float,
    lane_of: NDArray[np.int32],
) -> None:
    """Give every key, heaviest first, the lanes it needs; old lanes are kept while they fit.

    `lane_of` gets the lanes of key 0, then of key 1, and so on, `needed` lanes each. `key_loads`
    grows by what is placed. `host_loads` is only read, to find the emptiest lane: hosts can make
    room afterwards, so an old lane fits as long as keys alone do not overfill it.
    """
    old_starts, old_lanes = old
    taken = np.zeros(targets.size, dtype=np.uint8)
    both = key_loads + host_loads
    out = 0
    for i in range(weights.size):
        first = out
        piece = weights[i] / needed[i]
        for j in range(old_starts[i], old_starts[i + 1]):
            lane = old_lanes[j]
            fits = key_loads[lane] + piece <= targets[lane] * (1.0 + tolerance)
            if fits and taken[lane] == 0 and out - first < needed[i]:
                taken[lane] = 1
                lane_of[out] = lane
                out += 1
        while out - first < needed[i]:
            lane = _emptiest(both, targets, taken)
            taken[lane] = 1
            lane_of[out] = lane
            out += 1
        for j in range(first, out):
            lane = lane_of[j]
            taken[lane] = 0
            key_loads[lane] += piece
            both[lane] += piece


@kernel
def move_hosts(
    host_weights: NDArray[np.float64],
    hosts: NDArray[np.int32],
    loads: NDArray[np.float64],
    targets: NDArray[np.float64],
    tolerance: float,
) -> int:
    """Move hosts off lanes that are over their limit, to the emptiest lanes; return how many moved.

    `hosts` and `loads` are changed in place. A lane that is over its limit first gives away its
    heaviest hosts that weigh no more than its excess, so that few hosts move. If it is still over,
    it gives away its lightest hosts, so that little weight moves.
    """
    lanes = targets.size
    over = 0
    for lane in range(lanes):
        if loads[lane] > targets[lane] * (1.0 + tolerance):
            over += 1
    if over == 0:
        return 0
    # Equals in the order of their numbers, whatever the sorting algorithm.
    receivers = np.argsort(loads / targets, kind="mergesort")
    by_weight = np.argsort(host_weights, kind="mergesort")
    moved = 0
    for phase in range(2):
        at = 0
        for k in range(hosts.size):
            # First from the heaviest down, then from the lightest up.
            host = by_weight[hosts.size - 1 - k] if phase == 0 else by_weight[k]
            weight = host_weights[host]
            source = hosts[host]
            excess = loads[source] - targets[source] * (1.0 + tolerance)
            if weight <= 0.0 or excess <= 0.0:
                continue
            if phase == 0 and weight > loads[source] - targets[source]:
                continue
            # Receivers fill one after the other to half the tolerance; a full one is passed.
            probe = at
            while probe < lanes:
                lane = receivers[probe]
                if loads[lane] + weight <= targets[lane] * (1.0 + 0.5 * tolerance):
                    break
                if loads[lane] >= targets[lane] and probe == at:
                    at += 1
                probe += 1
            if probe == lanes:
                continue
            lane = receivers[probe]
            hosts[host] = lane
            loads[source] -= weight
            loads[lane] += weight
            moved += 1
    return moved
