"""DR's drift-respecting histogram: sampled counters that forget the rare and the old."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes, real, seed_number, whole
from trimtab._kernel import kernel, mix64, mix64_int, salts
from trimtab._table import KeyTable, locate, number_keys
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.sketches._counters import Counters, Part, add_counter, added_up
from trimtab.sketches.base import Sketch, Stored

_SEEN, _BLOCK, _WIDTH, _STEP, _CROSSED = range(5)
"""Places in `_marks`: tuples seen; first tuple and width of the block still to be sampled; width of
the blocks after it; whether the soft boundary was crossed since the last `advance`."""

_LOST, _SAMPLED = 0, 1
"""Places in `_sums`: what compactions have taken from every counter; weight of all samples."""


class DriftHistogram(Sketch):
    """Find the heavy keys of a drifting stream with few counters and few looks at it.

    One tuple of each block of `step` tuples is sampled and counts for all of them, so every count
    is without bias. The step doubles each time the counters pass the soft boundary, up to
    `2^deepest`, and halves after a batch that did not pass it. At the hard boundary a compaction
    keeps at most `soft` counters. `advance` ends a batch and multiplies all that is known by
    `fade`.

    With n the faded weight of all samples and s that of one key's:
    `s - n/(soft + 1) <= estimate <= s`, and every key with `s > n/(soft + 1)` is held. The variance
    of s is at most `(2^deepest - 1) x count`, and zero as long as the step is one.

    Parameters
    ----------
    soft
        Counters that survive a compaction, 1 or more. More counters find rarer keys.
    hard
        Counters at most, above `soft`; by default four times as many. A higher one compacts less
        often.
    deepest
        0..20; at least one tuple in `2^deepest` is sampled. Zero counts every tuple; each step more
        halves the work and doubles the variance.
    fade
        In [0, 1]: what is left of old counts after each batch. Zero forgets, one never does.
    seed
        Chooses which tuple of a block is sampled.

    Examples
    --------
    >>> import numpy as np
    >>> h = DriftHistogram(soft=2, hard=4, fade=0.5)
    >>> h.update(np.array([7, 7, 7, 8, 9, 7], dtype=np.uint64))
    >>> h.advance()
    >>> [part.tolist() for part in h.items()], h.total
    ([[7, 8, 9], [1.5, 0.5, 0.5]], 3.0)

    References
    ----------
    Dynamic Repartitioning, Sections 3 and 4, which leaves the counter to an extended paper.

    Notes
    -----
    The text says that the counter is a counter-based heuristic with a small footprint, sampled on
    the workers, merged into a global top-k, and kept as history (here: `HistogramHistory`). The
    rest is our reading. A block begun at one step is finished before the next step holds; cutting
    it short would bias the samples. A compaction takes the value of the (soft + 1)-th counter from
    all of them and drops those with nothing left, as Misra and Gries do: so each one frees
    counters, and all that was ever taken stays within `n / (soft + 1)`. Boundaries never move; the
    authors' program shrinks its own, to zero when skew is mild, and stops. A counter
    remembers what had been taken before it began, so a key that was never dropped is counted in
    full.
    """

    name = "drift-histogram"

    def __init__(
        self,
        soft: int = 512,
        hard: int | None = None,
        deepest: int = 4,
        fade: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.soft = whole("soft", soft, 1, 1 << 22)
        self.hard = 4 * self.soft if hard is None else whole("hard", hard, self.soft + 1, 1 << 24)
        self.deepest = whole("deepest", deepest, 0, 20)
        self.fade = real("fade", fade, 0, 1)
        self.seed = seed_number(seed)
        self._salt = salts(self.seed, 1)[0]
        self._table = KeyTable(self.hard)
        self._keys: NDArray[np.uint64] = np.zeros(self.hard, dtype=np.uint64)
        # Per counter: the weight since it began, and what had been lost before that.
        self._counts: NDArray[np.float64] = np.zeros((self.hard, 2))
        self._marks: NDArray[np.int64] = np.array([0, 0, 1, 1, 0])
        self._sums: NDArray[np.float64] = np.zeros(2)

    def update(self, hashes: ArrayLike) -> None:
        """Sample and count tuples."""
        keys = key_hashes(hashes)
        counters = Counters(self._table.arrays, self._keys, self._counts)
        widest = 1 << self.deepest
        while not _update(keys, self._salt, self.soft, widest, counters, self._marks, self._sums):
            self._compact(self._keys, self._counts)
        self._total += keys.size

    def _compact(self, keys: NDArray[np.uint64], counts: NDArray[np.float64]) -> None:
        """Hold the at most `soft` of these counters that have something left."""
        left = counts.sum(axis=1) - self.lost
        nth = keys.size - self.soft - 1
        taken = np.partition(left, nth)[nth]
        self._sums[_LOST] += taken
        self._fill(keys[left > taken], counts[left > taken])

    def _fill(self, keys: NDArray[np.uint64], counts: NDArray[np.float64]) -> None:
        self._keys[: keys.size], self._counts[: keys.size] = keys, counts
        number_keys(self._table.arrays, self._keys, keys.size)

    def advance(self) -> None:
        """End a batch: let what is known fade, and sample more densely if the batch was calm."""
        self._total *= self.fade
        self._sums *= self.fade
        if self.fade > 0:
            self._counts[: self.distinct] *= self.fade
        else:
            self._fill(self._keys[:0], self._counts[:0])
        if not self._marks[_CROSSED]:
            self._marks[_STEP] = max(1, self._marks[_STEP] // 2)
        self._marks[_CROSSED] = 0

    @property
    def step(self) -> int:
        """Tuples per sample at present."""
        return int(self._marks[_STEP])

    @property
    def sampled(self) -> float:
        """Faded weight of all samples: an estimate of `total` from the samples alone."""
        return float(self._sums[_SAMPLED])

    @property
    def lost(self) -> float:
        """The most that an estimate can be below its sampled weight, at most n/(soft + 1)."""
        return float(self._sums[_LOST])

    @property
    def distinct(self) -> int:
        """Number of keys held: a lower bound of the distinct keys seen."""
        return len(self._table)

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the held keys, the oldest counters first, and their estimates."""
        held = self.distinct
        return self._keys[:held].copy(), self._counts[:held, 0].copy()

    def merge(self, other: Self) -> Self:
        """Return the histogram of both streams, with the bound of one that saw them all."""
        self._check_mergeable(other)
        keys, counts = added_up([self._part(), other._part()])
        made = type(self)(**self.parameters())
        made._total = self._total + other._total
        made._sums = self._sums + other._sums
        seen = self._marks[_SEEN] + other._marks[_SEEN]
        step = max(self.step, other.step)
        made._marks[:] = seen, seen, step, step, 0
        if keys.size > made.hard:
            made._compact(keys, counts)
        else:
            made._fill(keys, counts)
        return made

    def _part(self) -> Part:
        held = self.distinct
        return Part(self._keys[:held], self._counts[:held], self.lost)

    def _pack(self) -> dict[str, Any]:
        keys, counts, _ = self._part()
        return {"keys": keys, "counts": counts, "marks": self._marks, "sums": self._sums}

    def _unpack(self, stored: Stored) -> None:
        keys = stored.keys("keys", self.hard)
        counts = stored.weights("counts", keys.size, 2)
        marks = stored.array("marks", np.int64, 5)
        seen, block, *widths, _ = marks.tolist()
        for width in widths:
            if not 1 <= width <= 1 << self.deepest or width & (width - 1):
                raise ValueError(f"{width} is no power of two up to 2^{self.deepest}")
        within = mix64_int(block ^ int(self._salt)) & (widths[0] - 1)
        if min(seen, block) < 0 or block + within < seen:
            raise ValueError("the next sample is behind the stream")
        self._marks, self._sums = marks, stored.weights("sums", 2)
        self._fill(keys, counts)


def global_top(parts: Sequence[DriftHistogram], k: int) -> Histogram:
    """Merge the workers' histograms and return the k heaviest keys of them all.

    >>> import numpy as np
    >>> workers = [DriftHistogram(soft=4) for _ in range(2)]
    >>> workers[0].update(np.array([7, 7, 8], dtype=np.uint64))
    >>> workers[1].update(np.array([8, 9, 8], dtype=np.uint64))
    >>> top = global_top(workers, k=1)
    >>> top.hashes.tolist(), top.weights.tolist(), top.total
    ([8], [3.0], 6.0)
    """
    if not parts:
        raise InvalidArgument("a global histogram needs at least one part; got none")
    return Histogram.from_sketch(reduce(DriftHistogram.merge, parts), top=k)


@kernel
def _update(
    hashes: NDArray[np.uint64],
    salt: np.uint64,
    soft: int,
    widest: int,
    counters: Counters,
    marks: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> bool:
    """Count the samples among `hashes`; stop and say False when a compaction is due."""
    table, keys, counts = counters
    table_keys, slots, used = table
    first = marks[_SEEN]
    while True:
        block, width = marks[_BLOCK], marks[_WIDTH]
        within = mix64(np.uint64(block) ^ salt) & np.uint64(width - 1)
        i = block + np.int64(within) - first
        if i >= hashes.size:
            break
        at = locate(table_keys, slots, hashes[i])
        slot = np.int64(slots[at])
        if slot < 0:
            if used[0] == keys.size:
                return False
            slot = add_counter(table, keys, counts, at, hashes[i], sums[_LOST])
            if slot == soft:
                marks[_CROSSED] = 1
                marks[_STEP] = min(2 * marks[_STEP], widest)
        counts[slot, 0] += width
        sums[_SAMPLED] += width
        marks[_BLOCK] = block + width
        marks[_WIDTH] = marks[_STEP]
    marks[_SEEN] += hashes.size
    return True
