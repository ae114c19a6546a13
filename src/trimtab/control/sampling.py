"""A short stream with the shape of a long one, drawn from its histogram."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import whole
from trimtab._kernel import inline, kernel, word_at
from trimtab.control.cost_model import Placement
from trimtab.histogram import Histogram

SAMPLES_PER_LANE = 64
"""Tuples per lane: a lane's load is then seen to 1.6 %, and 64 lanes need 4,096 tuples."""

LUMP = 8
"""A light key that is drawn comes with up to this many of its tuples, so that splitting shows."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A deterministic sample of a stream: heavy keys thinned out, light keys drawn whole.

    A key with weight w of N comes with `c = max(w S/N, min(w, lump))` of the S tuples and is drawn
    with probability `w S / (N c)`. So heavy keys keep their shares, and a light key that is
    drawn comes with its own number of tuples and stands for several that are not.

    Attributes
    ----------
    stream
        Key hashes in a seeded random order.
    codes
        Number of each tuple's key, 0 to the number of drawn keys.
    stands_for
        How many keys each drawn key stands for, 1 or more.
    heavy
        Whether each drawn key was thinned out rather than drawn.
    lump_noise
        A factor in (0, 1]: by so much the lanes would differ less if all light keys were there,
        not only those that were drawn.
    """

    stream: NDArray[np.uint64]
    codes: NDArray[np.int64]
    stands_for: NDArray[np.float64]
    heavy: NDArray[np.bool_]
    lump_noise: float
    total: float
    distinct: float

    @classmethod
    def draw(cls, histogram: Histogram, tuples: int, *, lump: int = LUMP, seed: int = 0) -> Sample:
        """Draw about `tuples` tuples.

        >>> histogram = Histogram.from_counts({5: 900.0, 6: 100.0}, total=2000, distinct=1002)
        >>> sample = Sample.draw(histogram, tuples=200)
        >>> sample.stream.size, int((sample.stream == 5).sum()), float(sample.stands_for.sum())
        (200, 90, 1002.0)
        """
        tuples = whole("tuples", tuples, 1)
        per_row = rows_per_weight(histogram)
        scale = min(1.0, tuples / (histogram.total * per_row))
        unknown, each = 0, 0.0
        if histogram.tail_weight > 0:
            unknown = max(histogram.distinct - len(histogram), 1)
            each = histogram.tail_weight * per_row / unknown
        weights = histogram.weights
        chosen = np.empty(weights.size, dtype=np.int64)
        counts, chances = np.empty(weights.size), np.empty(weights.size)
        drawn, square = _draw(weights, per_row, scale, lump, chosen, counts, chances)
        tail_count, tail_chance = _thinned(each, scale, lump)
        strangers = round(unknown * tail_chance) if unknown else 0
        if drawn == 0 and strangers == 0:
            # Less than half a row in all: a key that nobody knows stands for everything.
            strangers, tail_count, tail_chance = 1, 1.0, 1.0
        hashes = np.concatenate((histogram.hashes[chosen[:drawn]], _strangers(strangers, seed)))
        wanted = np.concatenate((counts[:drawn], np.full(strangers, tail_count)))
        chance = np.concatenate((chances[:drawn], np.full(strangers, tail_chance)))
        rounded = np.diff(np.floor(np.cumsum(wanted) + 0.5), prepend=0.0).astype(np.int64)
        rounded = np.maximum(rounded, 1)
        codes = np.repeat(np.arange(hashes.size), rounded)
        codes = codes[np.random.default_rng(seed).permutation(codes.size)]
        light = chance < 1.0
        truly = square + unknown * (each * scale) ** 2
        lumped = float((wanted[light] ** 2).sum())
        return cls(
            hashes[codes],
            codes,
            1.0 / chance,
            ~light,
            min(1.0, (truly / lumped) ** 0.5) if lumped > 0 else 1.0,
            histogram.total,
            float(max(histogram.distinct, 1)),
        )

    def repeated(self, times: int) -> Sample:
        """Return the same sample, `times` times over."""
        if times == 1:
            return self
        return replace(self, stream=np.tile(self.stream, times), codes=np.tile(self.codes, times))

    def placement(
        self, lanes: NDArray[np.int32], n: int, *, tail_is_blind: bool = False
    ) -> Placement:
        """Return the placement of the whole stream, if the sample went to `lanes`.

        `tail_is_blind` says that light keys were placed without a look at the loads. A sample of
        few light keys then makes lanes look less even than all of them would; this is corrected.
        """
        loads = np.bincount(lanes, minlength=n).astype(np.float64)
        if tail_is_blind:
            tail = np.bincount(lanes[~self.heavy[self.codes]], minlength=n)
            loads += (self.lump_noise - 1.0) * (tail - tail.mean())
        pairs = np.sort(self.codes * n + lanes)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        fan_out = np.bincount(pairs // n, minlength=self.stands_for.size)
        weight = self.stands_for[pairs // n]
        weight *= self.distinct / self.stands_for.sum()
        cardinalities = np.bincount(pairs % n, weight, n)
        return Placement(
            loads * (self.total / loads.sum()),
            np.asarray(cardinalities, dtype=np.float64),
            self.distinct,
            float(fan_out.max()),
        )


def rows_per_weight(histogram: Histogram) -> float:
    """Return the rows that a unit of weight stands for.

    Bytes and seconds do not tell; the mean key is then taken to have a lump of rows.
    """
    if histogram.unit == "rows":
        return 1.0
    return LUMP * max(histogram.distinct, 1) / histogram.total


@inline
def _thinned(rows: float, scale: float, lump: int) -> tuple[float, float]:
    """Return the tuples that a key comes with if it is drawn, and the chance that it is."""
    share = rows * scale
    count = max(share, min(max(rows, 1.0), float(lump)))
    return count, share / count


@kernel
def _draw(
    weights: NDArray[np.float64],
    per_row: float,
    scale: float,
    lump: int,
    chosen: NDArray[np.int64],
    counts: NDArray[np.float64],
    chances: NDArray[np.float64],
) -> tuple[int, float]:
    """Draw a key wherever the running sum of chances passes a whole number.

    Give the number of drawn keys, and the sum of squares of all light keys' shares of the sample.
    """
    drawn, running, square = 0, 0.5, 0.0
    for i in range(weights.size):
        rows = weights[i] * per_row
        if rows <= 0.0:
            break  # weights fall: no key after this one has any
        count, chance = _thinned(rows, scale, lump)
        if chance < 1.0:
            square += (rows * scale) ** 2
        passed = np.floor(running)
        running += chance
        if np.floor(running) > passed:
            chosen[drawn], counts[drawn], chances[drawn] = i, count, chance
            drawn += 1
    return drawn, square


def _strangers(count: int, seed: int) -> NDArray[np.uint64]:
    made = np.empty(count, dtype=np.uint64)
    _fill(made, np.uint64(seed))
    return made


@kernel
def _fill(out: NDArray[np.uint64], seed: np.uint64) -> None:
    for i in range(out.size):
        out[i] = word_at(seed, np.uint64(i + 1))
