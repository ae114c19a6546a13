"""FlexSP's idea: two candidates for a share of the keys, one for all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import choice, kernel, mix64, salts
from trimtab._parameters import LANES, SEED, Parameter, Real
from trimtab.routers._restarting import ENDLESS, RestartingRouter

BETA = Parameter("beta", 0.5, Real(0, 1), "share of the keys with two candidates; more split more")


class FlexSpRouter(RestartingRouter):
    """Let a random share `beta` of the keys have two candidates; hash the others.

    At most `2 beta + (1 - beta)` lanes per key are used on average: with 0 it is hashing by another
    function, with 1 it is `pkg`. The (1 + beta)-choice process keeps the lanes within
    `O(log lanes / beta)` tuples of the mean where no key is heavy.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    beta
        Share of the keys that may be split, in [0, 1]. Raising it levels better and replicates
        more.
    seed
        Chooses the hash functions, and which keys may be split.
    endless
        Whether loads count from the start, however many batches `advance` ends.

    Examples
    --------
    >>> keys = np.arange(4000, dtype=np.uint64)
    >>> r = FlexSpRouter(lanes=4, beta=0.25, seed=1)
    >>> again = np.concatenate([r.route(keys), r.route(keys)]).reshape(2, -1)
    >>> bool((again[0] != again[1]).mean() < 0.25)
    True

    References
    ----------
    The idea of FlexSP, (1 + beta)-choice based flexible stream partitioning; Peres, Talwar and
    Wieder, "The (1 + beta)-choice process and weighted balls-into-bins", SODA 2010.

    Notes
    -----
    Written from the idea, without the paper's text. Which keys may be split follows from their
    hash, so that nothing is remembered per key.
    """

    name = "flexsp"
    paper = "FlexSP: (1 + beta) choices"
    splits_keys = True
    takes = (LANES, BETA, SEED, ENDLESS)
    cost = "two hashes per tuple"
    state_in_words = "load per lane"
    use_when = "replicas are dear and only some keys may be split"
    complexity = 225
    prediction_note = "likely too high: few keys are less level than all of them"

    def __init__(self, lanes: int, beta: float = 0.5, seed: int = 0, endless: bool = False) -> None:
        super().__init__(lanes, seed, endless)
        self.beta = self._check(BETA, beta)
        self._salts = salts(self.seed, 3)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return both ends of the range."""
        return ({"beta": 0.0}, {"beta": 1.0})

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        _route(hashes, lanes, self._loads, self._salts, int(self.beta * 2**32))


@kernel
def _route(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    loads: NDArray[np.int64],
    salts: NDArray[np.uint64],
    cut: int,
) -> None:
    n = np.uint64(loads.size)
    for i in range(hashes.size):
        key = hashes[i]
        lane = choice(key, salts[0], n)
        if np.int64(mix64(key ^ salts[2]) >> np.uint64(32)) < cut:
            other = choice(key, salts[1], n)
            if loads[other] < loads[lane]:
                lane = other
        lanes[i] = lane
        loads[lane] += 1
