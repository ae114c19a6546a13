"""Algorithm 1 of the Holistic paper: what its four partitioners do around `decide`."""

from __future__ import annotations

from tests.reference.distinct_keys import COUNTERS, KeySet, Registers
from tests.reference.hashing import choice


class Partition:
    """Candidates per tuple, counters C and L per window."""

    def __init__(self, lanes: int, choices: int, cardinality: str, seed: int) -> None:
        self.lanes, self.choices, self.seed = lanes, choices, seed
        self.counter = COUNTERS[cardinality]
        self.advance()

    def advance(self) -> None:
        self.C: list[KeySet | Registers] = [self.counter() for _ in range(self.lanes)]
        self.L = [0] * self.lanes
        # Estimates are looked at far more often than they change.
        self.estimates = [0.0] * self.lanes

    def route(self, keys: list[int]) -> list[int]:
        lanes = []
        for key in keys:
            candidates = [choice(key, self.seed, d, self.lanes) for d in range(self.choices)]
            lane = self.decide(key, candidates)
            self.L[lane] += 1
            if not self.C[lane].contains(key):
                self.C[lane].update(key)
                self.estimates[lane] = self.C[lane].estimate()
            lanes.append(lane)
        return lanes

    def decide(self, key: int, candidates: list[int]) -> int:
        raise NotImplementedError


def first_least(candidates: list[int], values: list[float]) -> int:
    """Return the candidate with the least value, the first of several."""
    best = candidates[0]
    for other in candidates[1:]:
        if values[other] < values[best]:
            best = other
    return best
