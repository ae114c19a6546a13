"""Partial key grouping: the least loaded of the key's d candidate lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import choice, kernel, salts
from trimtab._parameters import LANES, SEED, Parameter, Whole
from trimtab.routers._restarting import ENDLESS, RestartingRouter

CHOICES = Parameter(
    "choices", 2, Whole(1, 64), "candidates per key; more level hotter keys and replicate more"
)


class PkgRouter(RestartingRouter):
    """Send each tuple to the least loaded of its key's `choices` candidates.

    A key is on at most `choices` lanes. While no key holds more than `1 / (5 lanes)` of the stream
    the imbalance stays within `O(log log lanes / log choices)` tuples; once the top key exceeds
    `choices / lanes`, `max/mean >= lanes x top share / choices`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    choices
        Candidates per key, 1 or more. More candidates level hotter keys and replicate more.
    seed
        Chooses the hash functions.
    endless
        Whether loads count from the start, however many batches `advance` ends, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> one_key = np.full(1000, 42, dtype=np.uint64)
    >>> r = PkgRouter(lanes=8, choices=2, seed=1)
    >>> sorted(np.unique(r.route(one_key), return_counts=True)[1].tolist())
    [500, 500]

    References
    ----------
    Holistic, Section 2.4 (PK-2, PK-5); Consistent Grouping, Section 4.1 and Lemma 6.1.

    Notes
    -----
    A tie goes to the first candidate, as in the authors' program. The paper's estimate of loads is
    local and never reset; ours restarts with `advance`, so that each batch is as level by itself.
    """

    name = "pkg"
    paper = "Nasir et al.; baseline of Holistic, Consistent Grouping, Prompt"
    takes = (LANES, CHOICES, SEED, ENDLESS)
    cost = "a hash per choice and tuple"
    state_in_words = "load per lane"
    use_when = "merging partial results of two lanes per key is cheap"
    complexity = 220

    def __init__(self, lanes: int, choices: int = 2, seed: int = 0, endless: bool = False) -> None:
        super().__init__(lanes, seed, endless)
        self.choices = self._check(CHOICES, choices)
        self._salts = salts(self.seed, self.choices)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return the paper's other setting, PK-5."""
        return ({"choices": 5},)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        _route(hashes, lanes, self._loads, self._salts)


@kernel
def _route(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int32],
    loads: NDArray[np.int64],
    salts: NDArray[np.uint64],
) -> None:
    n = np.uint64(loads.size)
    for i in range(hashes.size):
        best = choice(hashes[i], salts[0], n)
        for c in range(1, salts.size):
            other = choice(hashes[i], salts[c], n)
            if loads[other] < loads[best]:
                best = other
        lanes[i] = best
        loads[best] += 1
