"""Plain-Python twins of trim: how it places keys and hosts, and how it routes."""

from __future__ import annotations

import math

LIGHT = 0.02
TOLERANCE = 0.015


def pieces_needed(weight: float, had: int, target: float, tolerance: float) -> int:
    pieces = max(1, math.ceil(weight / (target * (1 + tolerance))))
    if had == pieces + 1 and weight > pieces * target * (1 - 2 * tolerance):
        pieces += 1
    return pieces


def place_keys(
    keys: list[tuple[float, int, list[int]]],
    host_loads: list[float],
    target: float,
    tolerance: float,
) -> tuple[list[list[int]], list[float]]:
    """`keys` are (weight, lanes needed, old lanes), heaviest first; gives lanes and key loads."""
    lanes = len(host_loads)
    key_loads = [0.0] * lanes
    both = list(host_loads)
    placed = []
    for weight, needed, old in keys:
        piece = weight / needed
        mine: list[int] = []
        for lane in old:
            fits = key_loads[lane] + piece <= target * (1 + tolerance)
            if fits and lane not in mine and len(mine) < needed:
                mine.append(lane)
        while len(mine) < needed:
            free = [lane for lane in range(lanes) if lane not in mine]
            mine.append(min(free, key=lambda lane: both[lane] / target))
        for lane in mine:
            key_loads[lane] += piece
            both[lane] += piece
        placed.append(mine)
    return placed, key_loads


def move_hosts(
    weights: list[float], hosts: list[int], loads: list[float], target: float, tolerance: float
) -> None:
    """Move hosts off overfull lanes; heaviest that fit the surplus first, then lightest."""
    limit = target * (1 + tolerance)
    if all(load <= limit for load in loads):
        return
    receivers = sorted(range(len(loads)), key=lambda lane: loads[lane] / target)
    rising = sorted(range(len(hosts)), key=lambda host: weights[host])
    for order, may_overshoot in ((rising[::-1], False), (rising, True)):
        for host in order:
            weight, source = weights[host], hosts[host]
            if weight <= 0 or loads[source] <= limit:
                continue
            if not may_overshoot and weight > loads[source] - target:
                continue
            for lane in receivers:
                if loads[lane] + weight <= target * (1 + 0.5 * tolerance):
                    hosts[host] = lane
                    loads[source] -= weight
                    loads[lane] += weight
                    break


class Trim:
    """The router, tuple by tuple, with dictionaries."""

    def __init__(
        self,
        lanes: int,
        split: bool = True,
        window: int = 100_000,
        slack: float = 0.015,
        hosts_per_lane: int = 64,
    ) -> None:
        self.lanes, self.split, self.window, self.slack = lanes, split, window, slack
        self.hosts = [i % lanes for i in range(lanes * hosts_per_lane)]
        self.expected = window
        self.steady = False
        self.most_pieces = 0
        self.start_window({})

    def start_window(self, placed: dict[int, list[int]]) -> None:
        """Begin with no tuples; `placed` are the heavy keys and the lanes chosen for them."""
        self.loads = [0] * self.lanes
        self.routed = 0
        self.counts = dict.fromkeys(placed, 0)
        self.lanes_of = {key: list(lanes) for key, lanes in placed.items()}
        self.filling = {key: len(lanes) - 1 for key, lanes in placed.items() if len(lanes) > 1}
        self.hot = {key for key, lanes in placed.items() if len(lanes) > 1}
        for key in self.hot:
            self.filling[key] = 0
        self.check = dict.fromkeys(self.hot, 0)
        self.pieces = sum(len(self.lanes_of[key]) for key in self.hot)

    def route(self, key: int) -> int:
        if self.routed >= self.window:
            self.advance()
        lane = self.lane(key)
        self.loads[lane] += 1
        self.routed += 1
        return lane

    def emptiest(self) -> int:
        return min(range(self.lanes), key=lambda lane: self.loads[lane])

    def lane(self, key: int) -> int:
        n, loads, routed = self.lanes, self.loads, self.routed
        ahead = int(self.slack * self.expected)
        if key not in self.counts:
            lane = self.hosts[key % len(self.hosts)]
            if loads[lane] * n > routed + ahead:
                lane = self.emptiest()
            self.counts[key] = 1
            self.lanes_of[key] = [lane]
            return lane
        self.counts[key] += 1
        count = self.counts[key]
        lane = self.lanes_of[key][self.filling[key] if key in self.hot else 0]
        heavy = int(LIGHT * self.expected / n) + 16
        burst = max(4 * n, ahead)
        if not self.split or count <= heavy or loads[lane] * n <= routed + burst:
            return lane
        has_room = len(self.hot) < 4 * n + 4 and self.pieces + 2 <= 8 * n + 8
        if key not in self.hot and has_room and self.worth_a_lane(count, 1, loads[lane], ahead):
            self.hot.add(key)
            self.pieces += 1
            self.filling[key] = 0
            self.check[key] = 0
        return self.next_lane(key, count, ahead, burst // n) if key in self.hot else lane

    def worth_a_lane(self, count: int, pieces: int, load: int, ahead: int) -> bool:
        n, routed = self.lanes, self.routed
        # While much is still to come, a lane may be a quarter of that ahead; less so where windows
        # tend to end early.
        most = (1.0 if self.steady else 0.1) * routed
        limit = ahead + int(max(0.0, min(most, 0.25 * (self.expected - routed))))
        excess = load * n - routed - limit
        if excess <= 0:
            return False
        fills_its_lanes = count * n > (routed + 16 * n) * pieces
        far_ahead = excess > max(0, int(0.05 * self.expected) - ahead)
        heavy_enough = float(excess) * (count * n) > 0.5 * ahead * float(routed * pieces)
        return fills_its_lanes or far_ahead or heavy_enough

    def next_lane(self, key: int, count: int, ahead: int, wait: int) -> int:
        n, loads, routed = self.lanes, self.loads, self.routed
        mine = self.lanes_of[key]
        if routed < self.check[key]:
            return mine[self.filling[key]]
        # The newest lane is looked at first; the first of equals is taken.
        newest_first = range(len(mine) - 1, -1, -1)
        best = min(newest_first, key=lambda i: loads[mine[i]])
        lane = mine[best]
        has_room = self.pieces < 8 * n + 8
        if has_room and self.worth_a_lane(count, len(mine), loads[lane], ahead):
            lane = self.emptiest()
            mine.append(lane)
            self.pieces += 1
            self.most_pieces = max(self.most_pieces, self.pieces)
            best = len(mine) - 1
        elif loads[lane] * n > routed:
            self.check[key] = routed + wait
        self.filling[key] = best
        return lane

    def advance(self) -> None:
        if self.routed == 0:
            return
        target = self.routed / self.lanes
        heavy = [(c, key) for key, c in self.counts.items() if c >= LIGHT * target]
        heavy.sort(key=lambda pair: (-pair[0], pair[1]))
        host_weights = [0.0] * len(self.hosts)
        for key, count in self.counts.items():
            if count < LIGHT * target:
                host_weights[key % len(self.hosts)] += count
        level = target if self.split else max(target, heavy[0][0] if heavy else 0)
        host_loads = [0.0] * self.lanes
        for host, lane in enumerate(self.hosts):
            host_loads[lane] += host_weights[host]
        items = []
        for count, key in heavy:
            # A hot key's lanes stand newest first.
            old = self.lanes_of[key][::-1] if key in self.hot else self.lanes_of[key]
            needed = pieces_needed(count, len(old), level, TOLERANCE) if self.split else 1
            items.append((float(count), min(needed, self.lanes), old))
        placed, key_loads = place_keys(items, host_loads, level, TOLERANCE)
        loads = [a + b for a, b in zip(key_loads, host_loads, strict=True)]
        noise = 2 / math.sqrt(level)
        move_hosts(host_weights, self.hosts, loads, level, TOLERANCE + noise)
        self.steady = self.routed >= 0.9 * self.expected
        self.expected = self.routed
        self.start_window({key: lanes for (_, key), lanes in zip(heavy, placed, strict=True)})
