"""Lossy Counting as the paper tells it: entries (key, f, delta), pruned at each bucket's end."""

from __future__ import annotations

import math


class LossyCounting:
    def __init__(self, epsilon: float) -> None:
        self.width = math.ceil(1 / epsilon)
        self.seen = 0
        self.entries: dict[int, tuple[int, int]] = {}

    def add(self, key: int) -> None:
        self.seen += 1
        bucket = math.ceil(self.seen / self.width)
        if key in self.entries:
            f, delta = self.entries[key]
            self.entries[key] = f + 1, delta
        else:
            self.entries[key] = 1, bucket - 1
        if self.seen % self.width == 0:
            self.prune(bucket)

    def prune(self, bucket: int) -> None:
        for key, (f, delta) in list(self.entries.items()):
            if f + delta <= bucket:
                del self.entries[key]

    def merge(self, other: LossyCounting) -> LossyCounting:
        """Add counts; where a part does not hold a key, all its ended buckets may have had one."""
        made = LossyCounting(1.0)
        made.width = self.width
        made.seen = self.seen + other.seen
        for key in sorted(self.entries.keys() | other.entries.keys()):
            f, delta = self.entries.get(key, (0, self.seen // self.width))
            g, gamma = other.entries.get(key, (0, other.seen // other.width))
            made.entries[key] = f + g, delta + gamma
        made.prune(made.seen // made.width)
        return made
