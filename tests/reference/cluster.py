"""A plain twin of the model: every tuple is an object, every second is spent by hand."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction


class Lanes:
    """Each lane holds the work left of each of its tuples and does the first one first."""

    def __init__(self, lanes: int) -> None:
        self.now = Fraction(0)
        self.left: list[list[Fraction]] = [[] for _ in range(lanes)]

    def _pass(self, until: Fraction, speeds: list[Fraction], busy: list[Fraction]) -> None:
        for lane, waiting in enumerate(self.left):
            room = until - self.now
            while waiting and room > 0:
                needed = waiting[0] / speeds[lane]
                spent = min(needed, room)
                waiting[0] -= spent * speeds[lane]
                room -= spent
                busy[lane] += spent
                if waiting[0] == 0:
                    waiting.pop(0)
        self.now = until

    def serve(
        self,
        tuples: list[tuple[int, Fraction, Fraction]],
        speeds: list[Fraction],
        end: Fraction,
    ) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        """Take (lane, arrival, work) in order; return latencies, busy seconds, work left."""
        busy = [Fraction(0)] * len(self.left)
        latencies = []
        for lane, arrival, work in tuples:
            self._pass(arrival, speeds, busy)
            self.left[lane].append(work)
            latencies.append(sum(self.left[lane]) / speeds[lane])
        self._pass(end, speeds, busy)
        return latencies, busy, [sum(waiting, Fraction(0)) for waiting in self.left]


def fragments(keys: list[int], lanes: list[int]) -> dict[int, int]:
    """Return on how many lanes each key is."""
    where = defaultdict(set)
    for key, lane in zip(keys, lanes, strict=True):
        where[key].add(lane)
    return {key: len(found) for key, found in where.items()}


def stage(tasks: list[float], cores: int) -> float:
    """Return when the last task is done, each starting on the core that is free first."""
    free = [0.0] * cores
    for seconds in tasks:
        free.sort()
        free[0] += seconds
    return max(free)
