"""Dalton with dictionaries: Algorithm 1, its windows, and the router side of Algorithm 2."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from copy import deepcopy
from fractions import Fraction
from itertools import accumulate

from tests.reference.hashing import GOLDEN, MASK, mix64, reduce_range

MANY_KEYS = 16_384


class SlidingWindow:
    """Loads and fragments per slide, with reference counts over the slides of the window."""

    def __init__(self, lanes: int, slides: int) -> None:
        self.slides = slides
        self.lanes = lanes
        self.loads_per_slide: list[list[int]] = [[0] * lanes]
        self.maps: list[dict[int, set[int]]] = [{}]
        self.references: dict[int, Counter[int]] = {}

    def add(self, key: int, lane: int) -> None:
        self.loads_per_slide[-1][lane] += 1
        self.mark(key, lane)

    def mark(self, key: int, lane: int) -> None:
        lanes = self.maps[-1].setdefault(key, set())
        if lane not in lanes:
            lanes.add(lane)
            self.references.setdefault(key, Counter())[lane] += 1

    def advance(self) -> None:
        self.loads_per_slide.append([0] * self.lanes)
        self.maps.append({})
        if len(self.maps) > self.slides:
            self.loads_per_slide.pop(0)
            for key, lanes in self.maps.pop(0).items():
                for lane in lanes:
                    self.references[key][lane] -= 1

    def loads(self) -> list[int]:
        return [sum(slide[lane] for slide in self.loads_per_slide) for lane in range(self.lanes)]

    def fragments(self, key: int) -> set[int]:
        return {lane for lane, count in self.references.get(key, {}).items() if count > 0}


class CountMinCells:
    """A count-min whose width is e over a tenth of the hot share, rounded up to a power of two."""

    def __init__(self, lanes: int, heat: float, salt: int) -> None:
        self.width = 1
        while self.width < math.e * lanes / (heat * 0.1):
            self.width *= 2
        self.salt = salt
        self.clear()

    def clear(self) -> None:
        self.cells: list[Counter[int]] = [Counter() for _ in range(4)]
        self.flags: set[int] = set()

    def add(self, key: int) -> int:
        first = mix64(key ^ self.salt)
        second = mix64((first + GOLDEN) & MASK)
        self.flags.add(first % MANY_KEYS)
        columns = [first, first >> 32, second, second >> 32]
        for row, column in zip(self.cells, columns, strict=True):
            row[column % self.width] += 1
        return min(row[c % self.width] for row, c in zip(self.cells, columns, strict=True))


class Dalton:
    def __init__(
        self,
        lanes: int,
        slides: int,
        stats_window: int,
        statistics: str = "exact",
        exploration: float = 0.1,
        step: float = 0.1,
        balance: float = 0.5,
        heat: float = 1.0,
        cooperate: bool = False,
        seed: int = 0,
    ) -> None:
        self.n = lanes
        self.stats_window = stats_window
        self.exploration, self.step, self.balance = exploration, step, balance
        self.heat = heat
        self.cooperate = cooperate
        self.auto = statistics == "auto"
        self.sketching = statistics == "count-min"
        self.word = mix64(seed)
        self.window = SlidingWindow(lanes, slides)
        self.sketch = CountMinCells(lanes, heat, self.word)
        self.load = 0 if cooperate else stats_window
        self.number = 0
        self.seen = 0
        self.draws = 0
        self.q: dict[int, list[float]] = {}
        self.until: dict[int, int] = {}
        self.followed: set[int] = set()  # keys counted exactly: hot ones, and split ones
        self.counts: Counter[int] = Counter()
        self.map: Counter[int] = Counter()  # cold keys; what "exact" looks up
        self.foreign = [0] * lanes
        self.foreign_slides: list[list[int]] = []  # ended slides of the window, but for this one
        self.advanced = 0
        self.since = [0] * lanes
        self.echo = 0.0
        self.awaiting = False
        self.buffered: dict[tuple[int, int], tuple[float, float]] = {}

    def is_hot(self, key: int) -> bool:
        return self.until.get(key, -1) >= self.number

    def exceeds(self, count: int) -> bool:
        return self.load > 0 and count >= Fraction(self.heat) * self.load / self.n

    def sight(self, key: int) -> int:
        if key in self.followed:
            self.counts[key] += 1
            return self.counts[key]
        if self.sketching:
            return self.sketch.add(key)
        self.map[key] += 1
        return self.map[key]

    def best_lane(self, key: int) -> int:
        values, home = self.q[key], key % self.n
        return max(range(self.n), key=lambda lane: (values[lane], lane == home, -lane))

    def route_one(self, key: int) -> int:
        home = key % self.n
        count = self.sight(key)
        lane = home
        if self.is_hot(key):
            word = mix64((self.word + self.draws * GOLDEN) & MASK)
            self.draws += 1
            lane = self.best_lane(key)
            if word % 2**32 < int(self.exploration * 2**32):
                lane = reduce_range(word, self.n)
            if self.exceeds(count):
                self.until[key] = max(self.until[key], self.number + 1)
        elif self.exceeds(count) and (self.cooperate or self.hot_count() < self.most_hot()):
            self.q[key] = [-2.0] * self.n
            self.until[key] = self.number + 1
            if key not in self.followed:
                self.followed.add(key)
                self.counts[key] = count
        self.window.add(key, lane)
        self.since[lane] += 1
        if self.is_hot(key):
            self.learn(key, lane, self.reward(key, lane))
        self.seen += 1
        if not self.cooperate and self.seen == self.stats_window:
            self.end_statistics_window()
        return lane

    def hot_count(self) -> int:
        return sum(self.is_hot(key) for key in self.until)

    def most_hot(self) -> int:
        return 2 * math.floor(self.n / self.heat)

    def reward(self, key: int, lane: int) -> float:
        loads = [a + b for a, b in zip(self.window.loads(), self.foreign, strict=True)]
        # Others are taken to have done the same since they were last heard of.
        load = (loads[lane] + self.echo * self.since[lane]) * self.n
        total = sum(loads) + self.echo * sum(self.since)
        # Equation 3 with numerator and denominator times the number of lanes.
        imbalance = (load - total) / max(load, total)
        fragmentation = len(self.window.fragments(key)) / self.n
        return -(self.balance * imbalance + (1.0 - self.balance) * fragmentation)

    def learn(self, key: int, lane: int, reward: float) -> None:
        if self.awaiting:
            credit, decay = self.buffered.get((key, lane), (0.0, 1.0))
            credit += self.step * (reward - credit)
            self.buffered[key, lane] = (credit, decay * (1.0 - self.step))
        else:
            self.q[key][lane] += self.step * (reward - self.q[key][lane])

    def end_statistics_window(self) -> None:
        self.number += 1
        self.seen = 0
        for key in list(self.followed):
            if not self.is_hot(key) and self.window.fragments(key) <= {key % self.n}:
                self.followed.discard(key)
        for key in list(self.until):
            if not self.is_hot(key):
                del self.until[key]
                del self.q[key]
        if self.auto:
            if not self.sketching:
                self.sketching = len(self.map) > MANY_KEYS
            else:
                few = math.floor(MANY_KEYS * (1 - math.exp(-0.5)))
                self.sketching = len(self.sketch.flags) > few
        self.counts.clear()
        self.map.clear()
        self.sketch.clear()

    def route(self, keys: list[int]) -> list[int]:
        return [self.route_one(key) for key in keys]

    def advance(self) -> None:
        self.window.advance()
        self.advanced += 1
        # Others are taken to have done the same in the slide that ends.
        guess = [math.floor(self.echo * count) for count in self.since]
        self.foreign = [a + b for a, b in zip(self.foreign, guess, strict=True)]
        self.since = [0] * self.n
        known = [sum(column) for column in zip([0] * self.n, *self.foreign_slides, strict=True)]
        self.foreign_slides.append([a - b for a, b in zip(self.foreign, known, strict=True)])
        if len(self.foreign_slides) == self.window.slides:
            leaving = self.foreign_slides.pop(0)
            self.foreign = [a - b for a, b in zip(self.foreign, leaving, strict=True)]

    def expect(self, weights: dict[int, float], total: float, rehearsed: int) -> None:
        """Make keys hot before the first tuple of a batch whose counts are known: Section 3.4."""
        if self.cooperate:
            self.load = math.ceil(total)
        filled = any(self.window.loads())
        strangers = False
        for key, weight in weights.items():
            if weight < Fraction(self.heat) * Fraction(total) / self.n:
                continue
            if not self.is_hot(key):
                strangers = True
                self.q[key] = [-2.0] * self.n
            if key not in self.followed:
                self.followed.add(key)
                self.counts[key] = 0
                if filled:
                    self.window.mark(key, key % self.n)
            self.until[key] = self.number + 1
        if strangers:
            self.rehearse(weights, total, rehearsed)

    def rehearse(self, weights: dict[int, float], total: float, tuples: int) -> None:
        """Learn values on a stream that holds each key in proportion to its weight."""
        keys = sorted(weights, key=lambda key: (-weights[key], key))
        ends = list(accumulate(weights[key] for key in keys))
        stage = deepcopy(self)
        stage.window = SlidingWindow(self.n, self.window.slides)
        for key in self.q:
            for lane in self.window.fragments(key):
                stage.window.mark(key, lane)
        stage.foreign, stage.since, stage.awaiting = [0] * self.n, [0] * self.n, False
        stage.load, stage.seen = 0, -tuples - 1
        for i in range(tuples):
            at = bisect_right(ends, (i * 0.6180339887498949) % 1.0 * total)
            stranger = mix64((self.word + i * GOLDEN) & MASK)
            stage.route_one(keys[at] if at < len(keys) else stranger)
        self.q = {key: stage.q[key] for key in self.q}

    def hot_keys(self) -> list[int]:
        return sorted(key for key in self.until if self.is_hot(key))

    def split_keys(self) -> list[int]:
        return sorted(key for key in self.window.references if len(self.window.fragments(key)) > 1)

    # Algorithm 2.

    def sync_message(self) -> dict[str, object]:
        counts = self.counts + Counter(
            {key: count for key, count in self.map.items() if key not in self.followed}
        )
        top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        message: dict[str, object] = {
            "round": self.number,
            "records": self.seen,
            "q": {key: list(self.q[key]) for key in self.hot_keys()},
            "top": dict(top[: math.ceil(self.n / self.heat)]),
            "loads": self.window.loads(),
        }
        self.sent = self.window.loads()
        self.since_sent = list(self.since)
        self.records_sent = self.seen
        self.advanced = 0
        self.end_statistics_window()
        self.awaiting = True
        return message

    def receive(
        self, load: int, q: dict[int, list[float]], until: dict[int, int], loads: list[int]
    ) -> None:
        for key in list(self.until):
            if key not in q and not self.exceeds(self.counts[key]):
                del self.until[key]
                del self.q[key]
        for key, values in q.items():
            self.q[key] = list(values)
            self.until[key] = until[key]
            if key not in self.followed:
                self.followed.add(key)
                self.window.mark(key, key % self.n)
        for (key, lane), (credit, decay) in self.buffered.items():
            if key in self.q:
                self.q[key][lane] = decay * self.q[key][lane] + credit
        self.buffered.clear()
        here = self.records_sent
        self.echo = (load - here) / here if here else 0.0
        if self.advanced == 0:
            self.since = [a - b for a, b in zip(self.since, self.since_sent, strict=True)]
        self.load = load
        self.foreign = [0] * self.n
        if self.advanced < self.window.slides:
            self.foreign = [a - b for a, b in zip(loads, self.sent, strict=True)]
        self.awaiting = False
