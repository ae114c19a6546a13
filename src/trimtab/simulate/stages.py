"""What the tasks of a map stage and of a reduce stage take."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, whole
from trimtab._pairs import Pairs


@dataclass(frozen=True)
class StageCosts:
    """Seconds that rows, keys and tasks cost.

    Parameters
    ----------
    map_row, map_key
        Per row of a block, and per distinct key in it: keys are opened, clustered and labelled.
    reduce_row, reduce_fragment, reduce_key
        Per row of a bucket, per key and block that it comes from, per distinct key.
    task
        Per task: starting it.

    References
    ----------
    Prompt, Section 3.3: sizes, cardinalities and split keys are what stages cost.
    """

    map_row: float = 1e-6
    map_key: float = 1e-6
    reduce_row: float = 1e-6
    reduce_fragment: float = 1e-6
    reduce_key: float = 0.0
    task: float = 0.0

    def __post_init__(self) -> None:
        for name in ("map_row", "map_key", "reduce_row", "reduce_fragment", "reduce_key", "task"):
            real(name, getattr(self, name), 0)

    def map_times(self, rows: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the seconds of each map task."""
        return self.task + self.map_row * rows + self.map_key * keys

    def reduce_times(
        self,
        pairs: Pairs,
        sizes: NDArray[np.float64],
        buckets: NDArray[np.int32],
        tasks: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rows and seconds of each reduce task; `sizes` and `buckets` are by pair."""
        rows = np.bincount(buckets, weights=sizes, minlength=tasks).astype(np.float64)
        fragments = np.bincount(buckets, minlength=tasks)
        bucket_of_key = np.empty(pairs.keys, dtype=np.int64)
        bucket_of_key[pairs.key] = buckets
        keys = np.bincount(bucket_of_key, minlength=tasks)
        seconds = (
            self.task
            + self.reduce_row * rows
            + self.reduce_fragment * fragments
            + self.reduce_key * keys
        )
        return rows, seconds


def stage_seconds(tasks: NDArray[np.float64], cores: int) -> float:
    """Return how long a stage takes whose tasks start in order, each on the first free core.

    >>> stage_seconds(np.array([3.0, 1.0, 1.0, 1.0]), cores=2)
    3.0
    """
    whole("cores", cores, 1)
    if tasks.size <= cores:
        return float(tasks.max(initial=0.0))
    free = [0.0] * cores
    for seconds in tasks:
        heapq.heapreplace(free, free[0] + float(seconds))
    return max(free)
