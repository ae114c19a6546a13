"""The drift-respecting histogram in plain Python: one sample per block, Misra-Gries compaction."""

from __future__ import annotations

from tests.reference.hashing import mix64, salt


class DriftHistogram:
    def __init__(self, soft: int, hard: int, deepest: int, fade: float, seed: int) -> None:
        self.soft, self.hard, self.widest, self.fade = soft, hard, 2**deepest, fade
        self.salt = salt(seed, 0)
        self.counters: dict[int, float] = {}  # weight since the counter began
        self.before: dict[int, float] = {}  # what had been taken before that
        self.lost = self.sampled = 0.0
        self.seen = 0
        self.step = 1
        self.crossed = False
        self.block, self.width = 0, 1  # the block still to be sampled

    def add(self, key: int) -> None:
        position = self.seen
        self.seen += 1
        if position != self.block + mix64(self.block ^ self.salt) % self.width:
            return
        if key not in self.counters:
            if len(self.counters) == self.hard:
                self.compact()
            self.counters[key], self.before[key] = 0.0, self.lost
            if len(self.counters) == self.soft + 1:
                self.crossed = True
                self.step = min(2 * self.step, self.widest)
        self.counters[key] += self.width
        self.sampled += self.width
        self.block += self.width
        self.width = self.step

    def compact(self) -> None:
        left = {key: weight + self.before[key] - self.lost for key, weight in self.counters.items()}
        taken = sorted(left.values(), reverse=True)[self.soft]
        self.lost += taken
        self.counters = {key: w for key, w in self.counters.items() if left[key] > taken}

    def advance(self) -> None:
        self.counters = {key: w * self.fade for key, w in self.counters.items() if self.fade > 0}
        self.before = {key: w * self.fade for key, w in self.before.items()}
        self.lost *= self.fade
        self.sampled *= self.fade
        if not self.crossed:
            self.step = max(1, self.step // 2)
        self.crossed = False

    def merge(self, other: DriftHistogram) -> dict[int, float]:
        """Return the counters of both together; all fit below the boundary, or a cut is made."""
        made = DriftHistogram(self.soft, self.hard, 0, self.fade, 0)
        made.lost = self.lost + other.lost
        for key in self.counters.keys() | other.counters.keys():
            made.counters[key] = self.counters.get(key, 0.0) + other.counters.get(key, 0.0)
            made.before[key] = sum(
                part.before[key] if key in part.counters else part.lost for part in (self, other)
            )
        if len(made.counters) > self.hard:
            made.compact()
        return made.counters
