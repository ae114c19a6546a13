"""Holistic, Algorithm 4 (cAM)."""

from __future__ import annotations

from tests.reference.holistic import Partition, first_least


class Cam(Partition):
    def decide(self, key: int, candidates: list[int]) -> int:
        for candidate in candidates:
            if self.C[candidate].contains(key):
                return candidate
        return first_least(candidates, [float(load) for load in self.L])
