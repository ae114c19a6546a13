"""Shuffle grouping: round robin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel, mix64_int
from trimtab.routers.base import Router


class ShuffleRouter(Router):
    """Send tuples to the lanes in turn, whatever their keys.

    Loads never differ by more than one tuple. A key is on up to `min(lanes, its tuples)` lanes.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    seed
        Chooses the lane that is first.

    Examples
    --------
    >>> import numpy as np
    >>> r = ShuffleRouter(lanes=3, seed=0)
    >>> np.bincount(r.route(np.zeros(7, dtype=np.uint64))).max()
    np.int64(3)

    References
    ----------
    Holistic, Section 2.4 (SH); Consistent Grouping, Section 4.1 (SG).
    """

    name = "shuffle"
    paper = "round robin (baseline of all five papers)"
    ignores_keys = True
    cost = "one addition per tuple"
    state_in_words = "a counter"
    use_when = "each row stands alone; merging per key costs nothing"
    complexity = 10

    _learned = ("_next",)

    def __init__(self, lanes: int, seed: int = 0) -> None:
        super().__init__(lanes, seed)
        self._next = mix64_int(self.seed) % self.lanes

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        self._next = int(_route(lanes, self._loads, self._next))


@kernel
def _route(lanes: NDArray[np.int32], loads: NDArray[np.int64], lane: int) -> int:
    for i in range(lanes.size):
        lanes[i] = lane
        loads[lane] += 1
        lane += 1
        if lane == loads.size:
            lane = 0
    return lane
