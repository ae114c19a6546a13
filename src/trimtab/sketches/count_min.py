"""Count-Min: an upper bound of any key's weight from a small table of shared cells."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes, real, seed_number
from trimtab._kernel import choice, kernel, salts
from trimtab.errors import InvalidArgument
from trimtab.sketches.base import Sketch, Stored, weighted

_MOST_CELLS = 1 << 27
"""One gigabyte of cells; a smaller error than that buys is cheaper with exact counts."""


class CountMin(Sketch):
    """Estimate the weight of any key without holding keys.

    With n the weight of the stream: `weight <= estimate` for every key, and for each key
    `estimate <= weight + epsilon n` with probability `1 - delta` or more. That takes
    `ceil(e / epsilon)` cells in each of `ceil(ln(1 / delta))` rows.

    Parameters
    ----------
    epsilon
        In (0, 1). Half of it doubles the cells.
    delta
        In (0, 1). A smaller one adds rows: each divides the failures by e and costs every tuple one
        more hash and cell.
    seed
        Chooses the hash functions, one per row.

    Examples
    --------
    >>> import numpy as np
    >>> s = CountMin(epsilon=0.001, delta=0.01)
    >>> s.rows, s.width
    (5, 2719)
    >>> s.add_and_estimate(np.array([7, 7, 8, 7], dtype=np.uint64)).tolist()
    [1.0, 2.0, 1.0, 3.0]

    References
    ----------
    Cormode and Muthukrishnan, J. Algorithms 55, 2005, Theorem 1; Dalton, Section 5.

    Notes
    -----
    The rows' hash functions are independent mixes of the key. Dalton's own program has 4 x 40
    cells whatever the stream, an error of 7 % of it; here the size follows from the error.
    """

    name = "count-min"

    def __init__(self, epsilon: float = 0.001, delta: float = 0.01, seed: int = 0) -> None:
        super().__init__()
        self.epsilon = real("epsilon", epsilon, 0, 1, low_open=True, high_open=True)
        self.delta = real("delta", delta, 0, 1, low_open=True, high_open=True)
        self.seed = seed_number(seed)
        rows, width = math.ceil(math.log(1 / self.delta)), math.ceil(math.e / self.epsilon)
        if rows * width > _MOST_CELLS:
            raise InvalidArgument(
                f"epsilon {epsilon} and delta {delta} need {rows * width} cells; at most "
                f"{_MOST_CELLS} are allowed; use a larger epsilon, or ExactCounts"
            )
        self._cells: NDArray[np.float64] = np.zeros((rows, width))
        self._salts = salts(self.seed, rows)

    @property
    def rows(self) -> int:
        """Number of rows, each with a hash function of its own."""
        return int(self._cells.shape[0])

    @property
    def width(self) -> int:
        """Number of cells in a row."""
        return int(self._cells.shape[1])

    def update(self, hashes: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count tuples, each as one or by its weight (finite, >= 0)."""
        keys, given, step = weighted(hashes, weights)
        _add(keys, given, step, self._cells, self._salts)
        self._total += float(given.sum()) if step else keys.size

    def add_and_estimate(
        self, hashes: ArrayLike, weights: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Count tuples in order; return for each its key's estimate right after it was counted."""
        keys, given, step = weighted(hashes, weights)
        estimates = np.empty(keys.size)
        _add_and_estimate(keys, given, step, self._cells, self._salts, estimates)
        self._total += float(given.sum()) if step else keys.size
        return estimates

    def estimate(self, hashes: ArrayLike) -> NDArray[np.float64]:
        """Return an upper bound of each key's weight."""
        keys = key_hashes(hashes)
        estimates = np.empty(keys.size)
        _estimate(keys, self._cells, self._salts, estimates)
        return estimates

    @property
    def distinct(self) -> int:
        """Cells in use in the fullest row: a lower bound of the distinct keys seen."""
        return int(np.count_nonzero(self._cells, axis=1).max())

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return nothing: a Count-Min answers for any key but holds none."""
        return np.empty(0, dtype=np.uint64), np.empty(0)

    def merge(self, other: Self) -> Self:
        """Return the sketch of both streams together, exactly as if one had seen them all."""
        self._check_mergeable(other)
        made = type(self)(self.epsilon, self.delta, self.seed)
        np.add(self._cells, other._cells, out=made._cells)
        made._total = self._total + other._total
        return made

    def clear(self) -> None:
        """Forget everything."""
        self._cells[:] = 0.0
        self._total = 0.0

    def _pack(self) -> dict[str, Any]:
        return {"cells": self._cells}

    def _unpack(self, stored: Stored) -> None:
        self._cells = stored.weights("cells", self.rows, self.width)


@kernel
def _add(
    hashes: NDArray[np.uint64],
    weights: NDArray[np.float64],
    step: int,
    cells: NDArray[np.float64],
    salts: NDArray[np.uint64],
) -> None:
    width = np.uint64(cells.shape[1])
    for i in range(hashes.size):
        key, weight = hashes[i], weights[i * step]
        for row in range(cells.shape[0]):
            cells[row, choice(key, salts[row], width)] += weight


@kernel
def _add_and_estimate(
    hashes: NDArray[np.uint64],
    weights: NDArray[np.float64],
    step: int,
    cells: NDArray[np.float64],
    salts: NDArray[np.uint64],
    estimates: NDArray[np.float64],
) -> None:
    width = np.uint64(cells.shape[1])
    for i in range(hashes.size):
        key, weight, least = hashes[i], weights[i * step], np.inf
        for row in range(cells.shape[0]):
            at = choice(key, salts[row], width)
            cells[row, at] += weight
            least = min(least, cells[row, at])
        estimates[i] = least


@kernel
def _estimate(
    hashes: NDArray[np.uint64],
    cells: NDArray[np.float64],
    salts: NDArray[np.uint64],
    estimates: NDArray[np.float64],
) -> None:
    width = np.uint64(cells.shape[1])
    for i in range(hashes.size):
        least = np.inf
        for row in range(cells.shape[0]):
            least = min(least, cells[row, choice(hashes[i], salts[row], width)])
        estimates[i] = least
