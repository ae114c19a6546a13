"""Space-Saving as the paper tells it: k counters, the smallest is given up for an unknown key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counter:
    key: int
    weight: float
    error: float = 0.0


class SpaceSaving:
    def __init__(self, counters: int) -> None:
        self.size = counters
        self.counters: list[Counter] = []

    def add(self, key: int, weight: float = 1.0) -> None:
        for counter in self.counters:
            if counter.key == key:
                counter.weight += weight
                return
        if weight == 0:
            return
        if len(self.counters) < self.size:
            self.counters.append(Counter(key, weight))
            return
        victim = min(self.counters, key=lambda counter: counter.weight)  # the first of equals
        victim.key, victim.error = key, victim.weight
        victim.weight += weight

    def smallest(self) -> float:
        if len(self.counters) < self.size:
            return 0.0
        return min(counter.weight for counter in self.counters)

    def merge(self, other: SpaceSaving) -> SpaceSaving:
        """Mergeable summaries: an unknown key may weigh up to the smallest counter."""
        mine = {counter.key: counter for counter in self.counters}
        theirs = {counter.key: counter for counter in other.counters}
        united = []
        for key in mine.keys() | theirs.keys():
            left = mine.get(key, Counter(key, self.smallest(), self.smallest()))
            right = theirs.get(key, Counter(key, other.smallest(), other.smallest()))
            united.append(Counter(key, left.weight + right.weight, left.error + right.error))
        united.sort(key=lambda counter: (-counter.weight, counter.key))
        made = SpaceSaving(self.size)
        made.counters = united[: self.size]
        return made
