"""Holistic, Algorithm 3 (AM)."""

from __future__ import annotations

from tests.reference.holistic import Partition, first_least


class Am(Partition):
    def decide(self, key: int, candidates: list[int]) -> int:
        for candidate in candidates:
            if self.C[candidate].contains(key):
                return candidate
        return first_least(candidates, self.estimates)
