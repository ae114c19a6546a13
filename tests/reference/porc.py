"""Consistent Grouping, Section 5.1: power of random choices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

from tests.reference.hashing import GOLDEN, mix64, reduce_range, salt


class Porc:
    def __init__(self, bins: int, epsilon: float, seed: int) -> None:
        self.bins, self.epsilon, self.seed = bins, epsilon, seed
        self.loads = [0] * bins

    def choices(self, key: int) -> Iterator[int]:
        """Return the endless row of a key's choices: its hash, and the same with a salt added."""
        word = mix64(key ^ salt(self.seed, 0))
        yield reduce_range(word, self.bins)
        for step in count(1):
            yield reduce_range(mix64(word + step * GOLDEN), self.bins)

    def route(self, keys: list[int]) -> list[int]:
        out = []
        for key in keys:
            capacity = math.ceil((1 + self.epsilon) * (sum(self.loads) + 1) / self.bins)
            chosen = next(b for b in self.choices(key) if self.loads[b] < capacity)
            self.loads[chosen] += 1
            out.append(chosen)
        return out

    def advance(self) -> None:
        """End a batch: the paper knows one run, so each batch is a run of its own."""
        self.loads = [0] * self.bins
