"""Consistent hashing: the lane that owns the next point on a ring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab._parameters import LANES, SEED
from trimtab.routers._ring import DEFAULT_POINTS, POINTS, Ring, ring, successor
from trimtab.routers.base import Router


class ChRouter(Router):
    """Send each key to the lane whose point follows the key's position on a ring.

    Replication is exactly 1. With one lane more, a key either stays or goes to the new lane. A
    lane's share of the keys is `1/lanes` with a relative standard deviation of about
    `1/sqrt(points)`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    points
        Points per lane (virtual nodes), 1 or more, and at most 2^24 for all lanes together. More
        points make the lanes' shares of the keys more even and the ring larger.
    seed
        Chooses the positions of points and keys.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.arange(10_000, dtype=np.uint64)
    >>> before, after = ChRouter(lanes=9).route(keys), ChRouter(lanes=10).route(keys)
    >>> np.unique(after[before != after]).tolist()
    [9]

    References
    ----------
    Consistent Grouping, Section 4.2; Karger et al., STOC 1997.
    """

    name = "ch"
    paper = "consistent hashing; baseline of Consistent Grouping"
    splits_keys = False
    takes = (LANES, POINTS, SEED)
    same_lane_in_every_task = True
    cost = "a look-up on the ring per tuple"
    state_in_words = "a ring"
    use_when = "lanes come and go, and keys are even"
    complexity = 200

    def __init__(self, lanes: int, points: int = DEFAULT_POINTS, seed: int = 0) -> None:
        super().__init__(lanes, seed)
        self.points = self._check(POINTS, points)
        self._ring = ring(self.lanes, self.points, self.seed)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        _route(hashes, lanes, self._loads, self._ring)


@kernel
def _route(
    hashes: NDArray[np.uint64], lanes: NDArray[np.int32], loads: NDArray[np.int64], ring: Ring
) -> None:
    for i in range(hashes.size):
        lane = np.uint64(ring.owners[successor(ring, hashes[i])])
        lanes[i] = lane
        loads[lane] += 1
