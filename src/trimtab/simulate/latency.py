"""Latencies of any number of tuples in a fixed amount of memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real

_KEPT_BITS = 7
_SHIFT = 52 - _KEPT_BITS
_LEAST, _MOST = 2.0**-40, 2.0**24
"""From a picosecond to half a year; what is shorter or longer is counted at the end it passes."""

_FIRST = int(np.float64(_LEAST).view(np.int64)) >> _SHIFT
_BUCKETS = (int(np.float64(_MOST).view(np.int64)) >> _SHIFT) - _FIRST + 1


class Latencies:
    """A histogram whose buckets grow with the latency: percentiles within `2^-8` of the truth.

    A bucket is the exponent and the first seven bits of the number as floating point stores it, so
    that filing a latency is a shift. The mean is exact.

    Examples
    --------
    >>> latencies = Latencies()
    >>> latencies.add(np.array([0.001] * 98 + [0.5, 2.0]))
    >>> latencies.count, round(latencies.mean, 5)
    (100, 0.02598)
    >>> [round(latencies.percentile(p), 3) for p in (50, 99, 100)]
    [0.001, 0.502, 2.008]
    """

    def __init__(self) -> None:
        self._counts: NDArray[np.int64] = np.zeros(_BUCKETS, dtype=np.int64)
        self._sum = 0.0

    def add(self, seconds: NDArray[np.float64]) -> None:
        """Count latencies of 0 seconds or more."""
        kept = np.clip(seconds, _LEAST, _MOST)
        self._counts += np.bincount((kept.view(np.int64) >> _SHIFT) - _FIRST, minlength=_BUCKETS)
        self._sum += float(seconds.sum())

    def merge(self, other: Latencies) -> None:
        """Count what another histogram has counted."""
        self._counts += other._counts
        self._sum += other._sum

    @property
    def count(self) -> int:
        """Number of latencies."""
        return int(self._counts.sum())

    @property
    def mean(self) -> float:
        """Mean latency in seconds; 0 where nothing was counted."""
        count = self.count
        return self._sum / count if count else 0.0

    def percentile(self, percent: float) -> float:
        """Return the latency that `percent` of the tuples do not exceed: the bucket's middle."""
        real("percent", percent, 0, 100)
        ranks = np.cumsum(self._counts)
        if ranks[-1] == 0:
            return 0.0
        wanted = max(1, int(np.ceil(ranks[-1] * percent / 100)))
        bucket = int(np.searchsorted(ranks, wanted)) + _FIRST
        edges = np.array([bucket, bucket + 1], dtype=np.int64) << _SHIFT
        return float(edges.view(np.float64).mean())
