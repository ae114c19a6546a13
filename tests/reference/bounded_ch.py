"""Consistent Grouping, Section 4.2: consistent hashing with bounded loads (Mirrokni et al.)."""

from __future__ import annotations

import math

from tests.reference.ch import Ring


def bounded_ch_lanes(
    keys: list[int], lanes: int, epsilon: float, points: int, seed: int
) -> list[int]:
    ring = Ring(lanes, points, seed)
    loads = [0] * lanes
    out = []
    for total, key in enumerate(keys, start=1):
        capacity = math.ceil((1 + epsilon) * total / lanes)
        lane = next(lane for lane in ring.clockwise(key) if loads[lane] < capacity)
        loads[lane] += 1
        out.append(lane)
    return out
