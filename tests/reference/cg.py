"""Consistent Grouping, Sections 5.2 and 5.3: virtual workers, pairing, worker delegation."""

from __future__ import annotations

from collections import deque

from tests.reference.porc import Porc


class Cg:
    def __init__(self, lanes: int, virtual: int, epsilon: float, seed: int) -> None:
        self.lanes = lanes
        self.porc = Porc(lanes * virtual, epsilon, seed)
        self.owner = [worker % lanes for worker in range(lanes * virtual)]
        self.idle: deque[int] = deque()
        self.busy: deque[int] = deque()
        self.slot = 0
        self.last_busy = [0] * lanes

    def route(self, keys: list[int]) -> list[int]:
        return [self.owner[worker] for worker in self.porc.route(keys)]

    def advance(self) -> None:
        self.porc.advance()

    def delegate(self, signals: list[int]) -> int:
        self.slot += 1
        for lane, signal in enumerate(signals):
            if signal == -1:
                self.last_busy[lane] = self.slot
            for queue, word in ((self.idle, +1), (self.busy, -1)):
                if signal != word and lane in queue:
                    queue.remove(lane)
                if signal == word and lane not in queue:
                    queue.append(lane)
            if lane in self.busy and self.owner.count(lane) == 1:
                self.busy.remove(lane)
        content = [lane for lane in range(self.lanes) if signals[lane] == 0]
        moved = 0
        while self.busy and (self.idle or content):
            if self.idle:
                taker = self.idle.popleft()
            else:
                taker = min(content, key=lambda lane: self.last_busy[lane])
                content.remove(taker)
            self.owner[self.owner.index(self.busy.popleft())] = taker
            moved += 1
        return moved
