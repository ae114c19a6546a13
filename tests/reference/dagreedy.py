"""DAGreedy with a full scan of all lanes and exact fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from tests.reference.dalton import SlidingWindow


class DAGreedy:
    def __init__(self, lanes: int, slides: int, stats_window: int, heat: float) -> None:
        self.n = lanes
        self.stats_window = stats_window
        self.threshold = Fraction(heat) * stats_window / lanes
        self.window = SlidingWindow(lanes, slides)
        self.counts: Counter[int] = Counter()
        self.until: dict[int, int] = {}
        self.number = 0
        self.seen = 0

    def score(self, key: int, lane: int, loads: list[int]) -> Fraction:
        half, mean = Fraction(1, 2), Fraction(sum(loads), self.n)
        affinity = half if lane in self.window.fragments(key) else Fraction(0)
        return affinity - (half * (loads[lane] - mean) / mean if mean else 0)

    def route_one(self, key: int) -> int:
        self.counts[key] += 1
        lane = key % self.n
        if self.until.get(key, -1) >= self.number:
            loads = self.window.loads()
            scores = [self.score(key, lane, loads) for lane in range(self.n)]
            lane = scores.index(max(scores))
        if self.counts[key] > self.threshold:
            self.until[key] = self.number + 1
        self.window.add(key, lane)
        self.seen += 1
        if self.seen == self.stats_window:
            self.seen = 0
            self.number += 1
            self.counts.clear()
        return lane

    def route(self, keys: list[int]) -> list[int]:
        return [self.route_one(key) for key in keys]

    def advance(self) -> None:
        self.window.advance()
