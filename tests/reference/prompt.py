"""Prompt's Algorithm 2 on plain lists, with the decisions that the planner's notes describe."""

from __future__ import annotations

import math
from collections.abc import Generator


def block_sizes(
    total: float, blocks: int, capacities: list[float] | None, whole: bool
) -> list[float]:
    """Return each block its even share, whole numbers that add up where asked for."""
    capacities = capacities or [1.0] * blocks
    ends, running = [], 0.0
    for capacity in capacities:
        running += total / blocks * capacity
        ends.append(float(round(running)) if whole else running)
    if not whole:
        return [total / blocks * capacity for capacity in capacities]
    return [end - start for start, end in zip([0.0, *ends[:-1]], ends, strict=True)]


def zigzag(turns: list[float]) -> Generator[int, bool, None]:
    """Return the blocks in the order of their turns; send(True) while keys are still being cut."""
    blocks = len(turns)
    credit = [0.0] * blocks
    block, step = 0, 1
    cutting = yield -1
    while True:
        here = block
        if step == 1 and block == blocks - 1:
            if cutting:
                block = 0
            else:
                step = -1
        elif step == -1 and block == 0:
            step = 1
        else:
            block += step
        credit[here] += turns[here]
        if credit[here] >= 1.0 - 1e-9:
            credit[here] -= 1.0
            cutting = yield here


def partition(
    weights: list[float],
    total: float,
    distinct: int,
    blocks: int,
    capacities: list[float] | None = None,
    tail: list[float] | None = None,
) -> list[list[tuple[int, float]]]:
    """Split keys, heaviest first, into fragments: for each key a list of (block, size)."""
    whole = all(w == int(w) for w in weights) and total == int(total)
    rooms = block_sizes(total, blocks, capacities, whole)
    rooms = [max(0.0, r - t) for r, t in zip(rooms, tail or [0.0] * blocks, strict=True)]
    tiny = 1e-9 * (total / blocks)
    cut = (total / blocks) / max(1.0, distinct / blocks)
    if whole:
        cut = float(math.ceil(cut))
    most = max(capacities) if capacities else 1.0
    dealer = zigzag([c / most for c in capacities] if capacities else [1.0] * blocks)
    next(dealer)

    placed: list[tuple[int, float] | None] = []
    light: list[list[int]] = [[] for _ in range(blocks)]
    for key, weight in enumerate(weights):
        here = dealer.send(weight > cut)
        if weight > cut:
            size = min(cut, rooms[here])
        else:
            size = weight if weight <= rooms[here] + tiny else 0.0
            if size > 0:
                light[here].append(key)
        placed.append((here, size) if size > 0 or weight == 0 else None)
        rooms[here] = max(0.0, rooms[here] - size)

    def best_fit(need: float) -> int | None:
        holding = [b for b in range(blocks) if rooms[b] >= need - tiny]
        return min(holding, key=lambda b: (rooms[b], b)) if holding else None

    def tightest_swap(need: float, home: int) -> int | None:
        room = {b: rooms[b] + weights[light[b][0]] for b in range(blocks) if b != home and light[b]}
        holding = [b for b in room if room[b] >= need - tiny]
        return min(holding, key=lambda b: (room[b], b)) if holding else None

    result: list[list[tuple[int, float]]] = []
    for key, weight in enumerate(weights):
        home, kept = placed[key] or (None, 0.0)
        residual = weight - kept
        if home is not None and residual <= rooms[home] + tiny:
            rooms[home] = max(0.0, rooms[home] - residual)
            result.append([(home, weight)])
            continue
        swap = None if home is None else tightest_swap(weight, home)
        if home is not None and swap is not None:
            back = light[swap].pop(0)
            light[home].append(back)
            placed[back] = (home, weights[back])
            rooms[home] = max(0.0, rooms[home] + kept - weights[back])
            rooms[swap] = max(0.0, rooms[swap] + weights[back] - weight)
            result.append([(swap, weight)])
            continue
        other = best_fit(weight)
        if other is not None:
            if home is not None:
                rooms[home] += kept
            rooms[other] = max(0.0, rooms[other] - weight)
            result.append([(other, weight)])
            continue
        pieces = []
        if home is not None:
            pieces.append((home, kept + rooms[home]))
            residual -= rooms[home]
            rooms[home] = 0.0
        while residual > 0:
            block = best_fit(residual)
            size = residual
            if block is None:
                block = max(range(blocks), key=lambda b: (rooms[b], b))
                if rooms[block] > tiny:
                    size = rooms[block]
            rooms[block] = max(0.0, rooms[block] - size)
            residual -= size
            pieces.append((block, size))
        result.append(pieces)
    return result
