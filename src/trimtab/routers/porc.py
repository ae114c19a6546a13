"""Power of random choices (PoRC): the first of the key's choices that has room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import salts
from trimtab._parameters import LANES, SEED
from trimtab.routers._capacity import EPSILON
from trimtab.routers._random_choices import assign, memo
from trimtab.routers._restarting import ENDLESS, RestartingRouter


class PorcRouter(RestartingRouter):
    """Send each tuple to the first lane with room in its key's endless row of hash choices.

    At any time of a batch `max load <= ceil((1 + epsilon) x total / lanes)`, whatever the keys;
    `advance` ends the batch. Only keys that meet a full lane are split.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    epsilon
        Room above the mean, 0 or more. A larger one splits fewer keys and allows more imbalance.
    seed
        Chooses the hash functions.
    endless
        Whether loads count from the start, however many batches `advance` ends, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> r = PorcRouter(lanes=8, epsilon=0.25, seed=1)
    >>> one_key = r.route(np.zeros(800, dtype=np.uint64))
    >>> np.bincount(one_key, minlength=8).max()
    np.int64(125)

    References
    ----------
    Consistent Grouping, Section 5.1.

    Notes
    -----
    The mean counts the tuple that is being placed, so there is always a lane with room. The first
    choice is a hash of the key; the others are that hash plus multiples of a constant, mixed again.
    The paper knows no batches and counts loads from the start.
    """

    name = "porc"
    paper = "Consistent Grouping, Section 5.1"
    takes = (LANES, EPSILON, SEED, ENDLESS)
    cost = "a hash per tuple, more past full lanes"
    state_in_words = "load per lane"
    use_when = "the balance is to be within a set percentage"
    complexity = 240

    def __init__(
        self, lanes: int, epsilon: float = 0.01, seed: int = 0, endless: bool = False
    ) -> None:
        super().__init__(lanes, seed, endless)
        self.epsilon = self._check(EPSILON, epsilon)
        self._salt = salts(self.seed, 1)[0]
        self._memo = memo(self.lanes)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        assign(hashes, lanes, self._loads, self.epsilon, self._salt, self._memo)

    def _forget(self) -> None:
        # It knows which choices are full.
        self._memo[:] = 0
