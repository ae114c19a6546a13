"""Count-Min as the paper tells it: one cell per row and key, the least cell is the estimate."""

from __future__ import annotations

import math

from tests.reference.hashing import choice


class CountMin:
    def __init__(self, epsilon: float, delta: float, seed: int) -> None:
        self.width = math.ceil(math.e / epsilon)
        self.seed = seed
        self.rows = [[0.0] * self.width for _ in range(math.ceil(math.log(1 / delta)))]

    def add(self, key: int, weight: float = 1.0) -> None:
        for number, row in enumerate(self.rows):
            row[choice(key, self.seed, number, self.width)] += weight

    def estimate(self, key: int) -> float:
        return min(
            row[choice(key, self.seed, number, self.width)] for number, row in enumerate(self.rows)
        )
