"""Key grouping: every key on the lane that its hash names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab.routers.base import Router


class HashRouter(Router):
    """Send each key to `key hash mod lanes`, whatever the load.

    Replication is exactly 1. The heaviest lane carries at least the heaviest key:
    `max/mean >= lanes x top share`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    seed
        Taken for the sake of the contract; plain hashing has nothing to seed.

    Examples
    --------
    >>> import numpy as np
    >>> HashRouter(lanes=4).route(np.array([0, 1, 6, 2**63 + 3], dtype=np.uint64)).tolist()
    [0, 1, 2, 3]

    References
    ----------
    Holistic, Section 2.4 (FLD); Consistent Grouping, Section 4.1 (KG).
    """

    name = "hash"
    paper = "key grouping (baseline of all five papers)"
    splits_keys = False
    same_lane_in_every_task = True
    is_plain_hashing = True
    cost = "one remainder per tuple"
    state_in_words = "none"
    use_when = "keys are even, or an operator needs plain hashing"
    complexity = 0

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        _route(hashes, lanes, self._loads)


@kernel
def _route(hashes: NDArray[np.uint64], lanes: NDArray[np.int32], loads: NDArray[np.int64]) -> None:
    n = np.uint64(loads.size)
    for i in range(hashes.size):
        lane = hashes[i] % n
        lanes[i] = lane
        loads[lane] += 1
