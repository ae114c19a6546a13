"""Gedik's Scan, Redist and Readj on plain lists, recomputing the cost of everything each time."""

from __future__ import annotations

import math


class Cost:
    """The three loads of tracked keys; memory and communication are one and the same list."""

    def __init__(self, lanes: int, theta: float) -> None:
        self.theta = theta
        self.linear = [0.0] * lanes
        self.square = [0.0] * lanes
        self.linear_total = 0.0
        self.square_total = 0.0

    def copy(self) -> Cost:
        made = Cost(len(self.linear), self.theta)
        made.linear, made.square = list(self.linear), list(self.square)
        made.linear_total, made.square_total = self.linear_total, self.square_total
        return made

    def add(self, lane: int, weight: float) -> Cost:
        self.linear[lane] += weight
        self.square[lane] += weight * weight
        self.linear_total += weight
        self.square_total += weight * weight
        return self

    def shift(self, source: int, target: int, out: float, back: float) -> Cost:
        linear, square = out - back, out * out - back * back
        self.linear[source] -= linear
        self.linear[target] += linear
        self.square[source] -= square
        self.square[target] += square
        return self

    def rho(self) -> float:
        def part(loads: list[float], total: float) -> float:
            if total <= 0:
                return 0.0
            return (max(loads) - min(loads)) * len(loads) / (self.theta * total)

        linear = part(self.linear, self.linear_total)
        square = part(self.square, self.square_total)
        return math.cbrt(linear * linear * square)


def scaled(weights: list[float], lanes: int) -> list[float]:
    scale = lanes / sum(weights)
    return [w * scale for w in weights]


def scan(weights: list[float], before: list[int], lanes: int, theta: float) -> list[int]:
    weights = scaled(weights, lanes)
    cost, moved, placed = Cost(lanes, theta), 0.0, list(before)
    for i, weight in enumerate(weights):
        if weight <= 0:
            continue
        prices = []
        for lane in range(lanes):
            price = cost.copy().add(lane, weight).rho() + moved
            prices.append(price + (weight if lane != before[i] else 0.0))
        placed[i] = prices.index(min(prices))
        moved += weight if placed[i] != before[i] else 0.0
        cost.add(placed[i], weight)
    return placed


def redist(weights: list[float], before: list[int], lanes: int, theta: float) -> list[int]:
    weights = scaled(weights, lanes)
    cost, moved, placed = Cost(lanes, theta), 0.0, list(before)
    waiting = [i for i, w in enumerate(weights) if w > 0]
    while waiting:
        best: tuple[float, int, int] | None = None
        for i in waiting:
            for lane in range(lanes):
                price = cost.copy().add(lane, weights[i]).rho() + moved
                price = (price + (weights[i] if lane != before[i] else 0.0)) / weights[i]
                if best is None or price < best[0]:
                    best = (price, i, lane)
        assert best is not None
        _, i, lane = best
        placed[i] = lane
        moved += weights[i] if lane != before[i] else 0.0
        cost.add(lane, weights[i])
        waiting.remove(i)
    return placed


def readj(weights: list[float], before: list[int], lanes: int, theta: float) -> list[int]:
    weights = scaled(weights, lanes)
    cost, placed = Cost(lanes, theta), list(before)
    for i, weight in enumerate(weights):
        cost.add(placed[i], weight)

    def growth(i: int, source: int, target: int) -> float:
        """How much more weight is away from its old lane when key i goes to `target`."""
        if source == before[i]:
            return weights[i]
        return -weights[i] if target == before[i] else 0.0

    for _ in range(8 * len(weights)):
        now = cost.rho()
        if now <= 1.0:
            break
        best: tuple[float, int, int | None, int] | None = None
        for i in range(len(weights)):
            here = placed[i]
            options: list[tuple[int, int | None]] = [(lane, None) for lane in range(lanes)]
            options += [(placed[k], k) for k in range(len(weights))]
            for there, other in options:
                back = weights[other] if other is not None else 0.0
                if there == here or back >= weights[i] or (other is not None and back <= 0):
                    continue
                new = cost.copy().shift(here, there, weights[i], back).rho()
                if new >= now * (1 - 1e-9):
                    continue
                saved = now - new - growth(i, here, there)
                if other is not None:
                    saved -= growth(other, there, here)
                gain = saved / (weights[i] - back)
                if best is None or gain > best[0]:
                    best = (gain, i, other, there)
        if best is None:
            break
        _, i, other, there = best
        here = placed[i]
        cost.shift(here, there, weights[i], weights[other] if other is not None else 0.0)
        placed[i] = there
        if other is not None:
            placed[other] = here
    return placed
