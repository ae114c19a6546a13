"""Holistic, Algorithm 2 (CM)."""

from __future__ import annotations

from tests.reference.holistic import Partition, first_least


class Cm(Partition):
    def decide(self, key: int, candidates: list[int]) -> int:
        return first_least(candidates, self.estimates)
