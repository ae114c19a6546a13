"""Power of two choices: the emptier of two random lanes, for each tuple anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel, mix64, reduce_range, word_at
from trimtab._parameters import LANES, SEED, Parameter, Whole
from trimtab.routers._restarting import ENDLESS, RestartingRouter

CHOICES = Parameter("choices", 2, Whole(1, 64), "lanes drawn per tuple; more flatten the loads")


class PotcRouter(RestartingRouter):
    """Send each tuple to the least loaded of `choices` lanes drawn for that tuple.

    With two or more choices the imbalance is `O(log log lanes / log choices)` tuples, whatever the
    keys. A key may be on every lane.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    choices
        Lanes drawn per tuple, 1 or more; more of them flatten the loads further.
    seed
        Chooses the draws.
    endless
        Whether loads count from the start, however many batches `advance` ends, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> r = PotcRouter(lanes=8, seed=3)
    >>> loads = np.bincount(r.route(np.zeros(8000, dtype=np.uint64)))
    >>> bool(loads.max() - loads.mean() < 10)
    True

    References
    ----------
    Consistent Grouping, Sections 4.3 and 6.1.1, Lemma 6.2.

    Notes
    -----
    The draws come from the tuple's position, not from its key: that is what sets PoTC apart from
    PKG. A tie goes to the first lane drawn.
    """

    name = "potc"
    paper = "Azar et al.; baseline of Consistent Grouping"
    takes = (LANES, CHOICES, SEED, ENDLESS)
    ignores_keys = True
    cost = "a draw per choice and tuple"
    state_in_words = "load per lane"
    use_when = "to compare with shuffle: it knows nothing of lanes' speeds either"
    complexity = 210

    _learned = ("_position",)

    def __init__(self, lanes: int, choices: int = 2, seed: int = 0, endless: bool = False) -> None:
        super().__init__(lanes, seed, endless)
        self.choices = self._check(CHOICES, choices)
        self._position = 0

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        start = np.uint64(self._position * self.choices)
        _route(lanes, self._loads, start, np.uint64(self.seed), self.choices)
        self._position += hashes.size


@kernel
def _route(
    lanes: NDArray[np.int32],
    loads: NDArray[np.int64],
    draw: np.uint64,
    seed: np.uint64,
    choices: int,
) -> None:
    n = np.uint64(loads.size)
    start = mix64(seed)
    for i in range(lanes.size):
        best = reduce_range(word_at(start, draw), n)
        draw += np.uint64(1)
        for _ in range(1, choices):
            other = reduce_range(word_at(start, draw), n)
            draw += np.uint64(1)
            if loads[other] < loads[best]:
                best = other
        lanes[i] = best
        loads[best] += 1
