"""A plain twin of the lanes' queues: every tuple is kept, and counted when asked for."""

from __future__ import annotations

from fractions import Fraction


class Queues:
    """Tuple i arrives at time i / rate; each lane serves one tuple at a time, in order."""

    def __init__(self, lanes: int, rate: int) -> None:
        self.rate = rate
        self.arrived = 0
        self.finish: list[list[Fraction]] = [[] for _ in range(lanes)]

    def serve(self, lanes: list[int], service: list[int]) -> list[Fraction]:
        latencies = []
        for lane in lanes:
            arrival = Fraction(self.arrived, self.rate)
            begin = arrival
            if self.finish[lane]:
                begin = max(begin, self.finish[lane][-1])
            self.finish[lane].append(begin + service[lane])
            latencies.append(self.finish[lane][-1] - arrival)
            self.arrived += 1
        return latencies

    def lengths(self) -> list[int]:
        """Consistent Grouping, Section 3: tuples sent to the lane with a finish after now."""
        now = Fraction(self.arrived, self.rate)
        return [sum(1 for done in finished if done > now) for finished in self.finish]
