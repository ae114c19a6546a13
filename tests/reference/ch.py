"""Consistent Grouping, Section 4.2: consistent hashing with virtual nodes."""

from __future__ import annotations

from tests.reference.hashing import GOLDEN, mix64, salt


class Ring:
    def __init__(self, lanes: int, points: int, seed: int) -> None:
        self.seed = seed
        placed = []
        for lane in range(lanes):
            for copy in range(points):
                number = lane * points + copy
                placed.append((mix64(salt(seed, 1) + number * GOLDEN), lane))
        self.points = sorted(placed)

    def clockwise(self, key: int) -> list[int]:
        """Return the lanes of all points, in the order in which the key meets them."""
        position = mix64(key ^ salt(self.seed, 0))
        after = [lane for place, lane in self.points if place >= position]
        before = [lane for place, lane in self.points if place < position]
        return after + before


def ch_lanes(keys: list[int], lanes: int, points: int, seed: int) -> list[int]:
    ring = Ring(lanes, points, seed)
    return [ring.clockwise(key)[0] for key in keys]
