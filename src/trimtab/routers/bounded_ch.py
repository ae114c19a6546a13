"""Consistent hashing with bounded loads: the next point whose lane has room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab._parameters import LANES, SEED
from trimtab.routers._capacity import EPSILON, capacity_after
from trimtab.routers._restarting import ENDLESS, RestartingRouter
from trimtab.routers._ring import DEFAULT_POINTS, POINTS, Ring, ring, successor


class BoundedChRouter(RestartingRouter):
    """Send each tuple to the first lane with room, clockwise from its key's position on a ring.

    At any time of a batch `max load <= ceil((1 + epsilon) x total / lanes)`, whatever the keys;
    `advance` ends the batch. Only keys that meet a full lane are split.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    epsilon
        Room above the mean, 0 or more. A larger one splits fewer keys and allows more imbalance.
    points
        Points per lane (virtual nodes), 1 or more, and at most 2^24 for all lanes together. More
        points make the lanes' shares of the keys more even and the ring larger.
    seed
        Chooses the positions of points and keys.
    endless
        Whether loads count from the start, however many batches `advance` ends, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> r = BoundedChRouter(lanes=8, epsilon=0.25)
    >>> one_key = r.route(np.zeros(800, dtype=np.uint64))
    >>> np.sort(np.bincount(one_key, minlength=8))[::-1].max()
    np.int64(125)

    References
    ----------
    Consistent Grouping, Section 4.2; Mirrokni et al., SODA 2018.

    Notes
    -----
    The mean counts the tuple that is being placed, so there is always a lane with room. Inside
    a batch tuples never leave, so capacities only rise. The paper's loads count from the start.
    """

    name = "bounded-ch"
    paper = "Mirrokni et al.; baseline of Consistent Grouping"
    takes = (LANES, EPSILON, POINTS, SEED, ENDLESS)
    cost = "a look-up on the ring per tuple, a walk past full lanes"
    state_in_words = "a ring, load per lane"
    use_when = "lanes come and go, and keys are skewed"
    complexity = 230

    def __init__(
        self,
        lanes: int,
        epsilon: float = 0.01,
        points: int = DEFAULT_POINTS,
        seed: int = 0,
        endless: bool = False,
    ) -> None:
        super().__init__(lanes, seed, endless)
        self.epsilon = self._check(EPSILON, epsilon)
        self.points = self._check(POINTS, points)
        self._ring = ring(self.lanes, self.points, self.seed)
        # Per point: a capacity, and where the last walk from this point under it ended.
        self._skips: NDArray[np.int64] = np.zeros((self._ring.positions.size, 2), dtype=np.int64)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        _route(hashes, lanes, self._loads, self.epsilon, self._ring, self._skips)

    def _forget(self) -> None:
        self._skips[:] = 0


@kernel
def _route(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    loads: NDArray[np.int64],
    epsilon: float,
    ring: Ring,
    skips: NDArray[np.int64],
) -> None:
    total = loads.sum()
    capacity = capacity_after(np.int64(0), total + 1, epsilon, loads.size)
    for i in range(hashes.size):
        total += 1
        capacity = capacity_after(capacity, total, epsilon, loads.size)
        at = successor(ring, hashes[i])
        lane = np.uint64(ring.owners[at])
        if loads[lane] >= capacity:
            # While the capacity stays, a full lane stays full: the walk from a point goes on
            # where the last walk from it ended. One round of the circle meets every lane.
            start = at
            if skips[start, 0] == capacity:
                at = np.uint64(skips[start, 1])
                lane = np.uint64(ring.owners[at])
            while loads[lane] >= capacity:
                at += np.uint64(1)
                lane = np.uint64(ring.owners[at])
            skips[start, 0] = capacity
            skips[start, 1] = at
        lanes[i] = lane
        loads[lane] += 1
