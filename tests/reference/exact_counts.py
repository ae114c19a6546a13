"""Exact counts in a dictionary."""

from __future__ import annotations


class ExactCounts:
    def __init__(self) -> None:
        self.weights: dict[int, float] = {}

    def add(self, key: int, weight: float = 1.0) -> None:
        self.weights[key] = self.weights.get(key, 0.0) + weight
