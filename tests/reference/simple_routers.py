"""Plain-Python twins of hash, shuffle, time, potc and pkg."""

from __future__ import annotations

from tests.reference.hashing import GOLDEN, MASK, choice, mix64, reduce_range


def hash_lanes(keys: list[int], lanes: int) -> list[int]:
    return [key % lanes for key in keys]


def shuffle_lanes(keys: list[int], lanes: int, seed: int) -> list[int]:
    first = mix64(seed) % lanes
    return [(first + i) % lanes for i in range(len(keys))]


def time_lanes(keys: list[int], lanes: int, interval: int) -> list[int]:
    length = interval / lanes
    blocks = []
    for tick in range(len(keys)):
        block = 0
        while block < lanes - 1 and tick >= (block + 1) * length:
            block += 1
        blocks.append(block)
    return blocks


def potc_lanes(keys: list[int], lanes: int, choices: int, seed: int, first: int = 0) -> list[int]:
    loads = [0] * lanes
    out = []
    for position in range(first, first + len(keys)):
        drawn = []
        for c in range(choices):
            number = position * choices + c
            word = mix64((mix64(seed) + number * GOLDEN) & MASK)
            drawn.append(reduce_range(word, lanes))
        lane = min(drawn, key=lambda candidate: loads[candidate])
        loads[lane] += 1
        out.append(lane)
    return out


def pkg_lanes(keys: list[int], lanes: int, choices: int, seed: int) -> list[int]:
    loads = [0] * lanes
    out = []
    for key in keys:
        candidates = [choice(key, seed, number, lanes) for number in range(choices)]
        lane = min(candidates, key=lambda candidate: loads[candidate])
        loads[lane] += 1
        out.append(lane)
    return out
