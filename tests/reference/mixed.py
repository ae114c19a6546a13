"""Mixed of Fang et al. on plain lists: clean, prepare, assign, until the table is short enough."""

from __future__ import annotations


def rebalance(
    weights: list[float], before: list[int], fixed: list[float], theta: float
) -> list[int]:
    """Prepare and assign: give the lane of each key, heaviest first."""
    lanes = len(fixed)
    placed, load = list(before), list(fixed)
    for i, weight in enumerate(weights):
        load[placed[i]] += weight
    bound = sum(load) / lanes * (1.0 + theta)
    candidates = []
    for i, weight in enumerate(weights):
        if load[placed[i]] > bound and weight > 0:
            load[placed[i]] -= weight
            candidates.append(i)
    for i in candidates:
        placed[i] = -1
    while candidates:
        key = min(candidates)  # the heaviest, as keys come by falling weight
        candidates.remove(key)
        by_load = sorted(range(lanes), key=lambda p: (load[p], p))
        target, leaving = by_load[0], []
        for lane in by_load:
            excess = load[lane] + weights[key] - bound
            lighter = []
            for i in range(len(weights)):
                if excess <= 0:
                    break
                if placed[i] == lane and 0 < weights[i] < weights[key]:
                    lighter.append(i)
                    excess -= weights[i]
            if excess <= 0:
                target, leaving = lane, lighter
                break
        for i in leaving:
            load[target] -= weights[i]
            placed[i] = -1
            candidates.append(i)
        placed[key] = target
        load[target] += weights[key]
    return placed


def mixed(
    weights: list[float],
    hash_lane: list[int],
    before: list[int],
    fixed: list[float],
    theta: float,
    most: int,
) -> list[int]:
    """Return the lane of each key with at most `most` of them away from their hash lane."""
    table = [i for i in range(len(weights)) if before[i] != hash_lane[i]]
    clean = 0
    while True:
        start = list(before)
        for i in table[len(table) - clean :]:
            start[i] = hash_lane[i]
        placed = rebalance(weights, start, fixed, theta)
        listed = [i for i in range(len(weights)) if placed[i] != hash_lane[i]]
        if len(listed) <= most:
            return placed
        if clean == len(table):
            for i in listed[most:]:
                placed[i] = hash_lane[i]
            return placed
        clean = min(len(table), clean + len(listed) - most)
