"""Holistic, Algorithm 5 (LM), with the scaled loads of Equations 7 to 9."""

from __future__ import annotations

from tests.reference.holistic import Partition, first_least


def scaled(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    if low == high:
        return [0.0] * len(values)
    return [(value - low) / (high - low) for value in values]


class Lm(Partition):
    def __init__(self, lanes: int, choices: int, p: float, cardinality: str, seed: int) -> None:
        super().__init__(lanes, choices, cardinality, seed)
        self.p = p

    def decide(self, key: int, candidates: list[int]) -> int:
        tuples, keys = scaled([float(load) for load in self.L]), scaled(self.estimates)
        hybrid = [self.p * t + (1 - self.p) * k for t, k in zip(tuples, keys, strict=True)]
        return first_least(candidates, hybrid)
