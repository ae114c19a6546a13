"""Dalton for micro-batches: what is known of a batch decides before its first tuple is routed.

Naming the hot keys is not enough. A lane that was never tried must be tried some seventeen times
before its value overtakes that of the hash lane, and only exploration tries it: with few thousand
tuples per batch a hot key would stay where it is for batches. So the bandit rehearses: it routes a
stream made from the counts, and keeps the values that it has learned, and nothing else.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel, word_at
from trimtab.histogram import Histogram
from trimtab.routers._dalton_cooperation import CooperatingDalton, hot_threshold
from trimtab.routers._dalton_learner import BEST, UNTIL, heat_up
from trimtab.routers._dalton_state import HOT, NOBODY, SEEN, THRESHOLD, WINDOW

REHEARSED_PER_LANE = 6_250
"""Tuples of a rehearsal for each lane: about 1,500 of a key with a quarter of a lane's share, so
that exploration tries each of 16 lanes ten times. Four times as many do not level better."""

_LONGEST_REHEARSAL = 1 << 20

_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, spread evenly however many are taken: every part of the rehearsal
holds each key in proportion to its weight."""


class BatchDalton(CooperatingDalton):
    """Section 3.4: take the statistics of a batch before its tuples."""

    _first_word: np.uint64

    def expect(self, histogram: Histogram) -> None:
        """Make the hot keys of the coming batch hot before its first tuple (Section 3.4).

        If one of them was not hot before, values are learned in a rehearsal. In cooperation the
        batch's total is the load that further keys are measured by.
        """
        if histogram.total <= 0:
            return
        least = _least_weight(histogram.total, self.lanes, self.heat)
        hot = histogram.hashes[histogram.weights >= least]
        strangers = np.setdiff1d(hot, self.hot_keys()).size
        window, at_home = int(self._clock[WINDOW]), bool(self._loads.any())
        done = 0
        while done < hot.size:
            self._make_room()
            done = heat_up(self._rows(), done, hot, window, at_home, self._slide, self._oldest)
        self._clock[HOT] = np.count_nonzero(self._facts[: self._used[0], UNTIL] >= window)
        if self.cooperate:
            load = math.ceil(histogram.total)
            self._clock[THRESHOLD] = hot_threshold(load, self.lanes, self.heat)
        if strangers:
            self._rehearse(histogram)

    def _rehearse(self, histogram: Histogram) -> None:
        tuples = min(REHEARSED_PER_LANE * self.lanes, _LONGEST_REHEARSAL)
        stream: NDArray[np.uint64] = np.empty(tuples, dtype=np.uint64)
        cumulated = np.cumsum(histogram.weights)
        _fill(stream, histogram.hashes, cumulated, histogram.total, self._first_word)
        stage = type(self).restore(self.state())
        # Lanes are empty when a batch begins, here and at the others.
        for field in ("_loads", "_foreign"):
            getattr(stage, field)[:] = 0
        stage._anchor[:] = stage._past
        # Who is hot is known: neither does another key become hot, nor does a window end.
        stage._clock[THRESHOLD] = NOBODY
        stage._clock[SEEN] = -tuples - 1
        stage._awaiting = False
        stage.route(stream)
        used = self._used[0]
        self._values[:used] = stage._values[:used]
        self._runner_up[:used] = stage._runner_up[:used]
        self._facts[:used, BEST] = stage._facts[:used, BEST]


def _least_weight(total: float, lanes: int, heat: float) -> float:
    """Return the least number that is `heat x total / lanes` or more."""
    exact = Fraction(heat) * Fraction(total) / lanes
    bound = float(exact)
    return bound if Fraction(bound) >= exact else math.nextafter(bound, math.inf)


@kernel
def _fill(
    out: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    cumulated: NDArray[np.float64],
    total: float,
    first_word: np.uint64,
) -> None:
    """Fill `out` with keys in proportion to their weights; unknown keys are all different."""
    for i in range(out.size):
        at = np.searchsorted(cumulated, (i * _GOLDEN) % 1.0 * total, side="right")
        out[i] = hashes[at] if at < hashes.size else word_at(first_word, np.uint64(i))
