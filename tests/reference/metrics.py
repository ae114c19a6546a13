"""Plain-Python twins of the papers' costs, straight from their formulas."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction


def loads(lanes: list[int], n: int) -> list[int]:
    return [sum(1 for lane in lanes if lane == which) for which in range(n)]


def key_sets(keys: list[int], lanes: list[int], n: int) -> list[set[int]]:
    """Return the set of keys on each lane: ||L_j|| is the size of set j."""
    sets: list[set[int]] = [set() for _ in range(n)]
    for key, lane in zip(keys, lanes, strict=True):
        sets[lane].add(key)
    return sets


def spread(values: list[int]) -> float:
    """Max minus mean: Holistic Eq. 1 and 6, Prompt Eq. 2, 3 and 4."""
    return max(values) - sum(values) / len(values)


def split_ratio(keys: list[int], lanes: list[int], n: int) -> float:
    """Prompt Eq. 5."""
    fragments = sum(len(held) for held in key_sets(keys, lanes, n))
    return fragments / len(set(keys)) if keys else 1.0


def partitioning_imbalance(keys: list[int], lanes: list[int], n: int) -> float:
    """Prompt Eq. 6 with equal parts."""
    sizes = loads(lanes, n)
    cards = [len(held) for held in key_sets(keys, lanes, n)]
    return (spread(sizes) + spread(cards) + split_ratio(keys, lanes, n)) / 3


def hybrid(keys: list[int], lanes: list[int], n: int, p: float) -> list[float]:
    """Holistic Eq. 7 to 9, with 0 where the scaling divides nothing by nothing."""

    def scaled(values: list[int]) -> list[float]:
        low, high = min(values), max(values)
        return [(v - low) / (high - low) if high != low else 0.0 for v in values]

    by_load = scaled(loads(lanes, n))
    by_keys = scaled([len(held) for held in key_sets(keys, lanes, n)])
    return [p * a + (1 - p) * b for a, b in zip(by_load, by_keys, strict=True)]


def utilisation_spread(load: list[int], capacity: list[float]) -> float:
    """Consistent Grouping, Section 3, with capacities scaled to a mean of one."""
    mean = sum(capacity) / len(capacity)
    used = [a / (c / mean) for a, c in zip(load, capacity, strict=True)]
    return max(used) - sum(used) / len(used)


def moved(keys: list[int], before: list[int], after: list[int]) -> float:
    """Return the share of tuples whose (key, lane) state has to travel."""
    had: dict[tuple[int, int], int] = defaultdict(int)
    has: dict[tuple[int, int], int] = defaultdict(int)
    for key, old, new in zip(keys, before, after, strict=True):
        had[key, old] += 1
        has[key, new] += 1
    leaving = sum(max(0, count - has[pair]) for pair, count in had.items())
    return leaving / len(keys) if keys else 0.0


def least_replication(keys: list[int], n: int) -> float:
    counts = {key: keys.count(key) for key in set(keys)}
    if not counts:
        return 1.0
    pieces = [max(1, math.ceil(Fraction(c * n, len(keys)))) for c in counts.values()]
    return sum(pieces) / len(counts)


def widest(keys: list[int], lanes: list[int]) -> int:
    """Return the most lanes that any key is on."""
    pairs = list(zip(keys, lanes, strict=True))
    return max((len({lane for k, lane in pairs if k == key}) for key in set(keys)), default=0)
