"""D-Choices: hot keys get just as many candidates as level lanes need, the others two."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import lane_count
from trimtab.routers._head_and_tail import HeadAndTailRouter

_FIRST_LOOK = 500
"""The first look at the counts comes after so many tuples, the next after twice as many each."""

_SLACK = 1e-4
"""What the paper allows a lane above its share."""


class DChoicesRouter(HeadAndTailRouter):
    """Split hot keys over d lanes, where d is the least number that the head's shares allow.

    With p_1 >= p_2 >= ... the shares of the hot keys, d is the least number for which, for each h,
    the lanes that the first h keys can reach have room for what must go there:
    `sum_{i<=h} p_i + (b/n)^d sum_{i>h} p_i + (b/n)^2 (1 - sum p_i) <= b (1/n + 0.0001)`, where
    `b = n - n (1 - 1/n)^(h d)` is the expected number of those lanes.

    Parameters
    ----------
    lanes
        Number of destinations n, 1 or more.
    heat
        Multiple of a lane's fair share from which on a key is hot, in [0.001, 1000].
    seed
        Chooses the hash functions.
    endless
        Whether loads and counts go on, however many batches `advance` ends, as in the paper.

    Examples
    --------
    >>> from trimtab import hash_keys
    >>> from trimtab.workloads import zipf_ids
    >>> r = DChoicesRouter(lanes=32, seed=1)
    >>> loads = np.bincount(r.route(hash_keys(zipf_ids(100_000, 10_000, 1.0, seed=1))))
    >>> print(round(loads.max() / loads.mean() - 1, 2), r.choices)
    0.15 4

    References
    ----------
    Nasir et al., "When Two Choices Are not Enough: Balancing at Scale in Distributed Stream
    Processing", ICDE 2016, Sections III and IV.

    Notes
    -----
    Keys are counted exactly, as in `w-choices`. The number of choices is worked out anew whenever
    the number of counted tuples has doubled, and kept when `advance` ends a batch. Where no number
    below `lanes` is enough, or more than 64 are needed, hot keys go to any lane.
    """

    name = "d-choices"
    paper = "Nasir et al., ICDE 2016"
    cost = "a count per tuple; a hash per choice"
    state_in_words = "counts of all keys"
    use_when = "a few keys exceed two lanes, and replicas cost"
    complexity = 355

    _learned: ClassVar[tuple[str, ...]] = ("_counted", "_clock", "choices")

    def __init__(self, lanes: int, heat: float = 0.2, seed: int = 0, endless: bool = False) -> None:
        super().__init__(lanes, heat, seed, endless)
        self.choices = 2

    def _next_stop(self, seen: int) -> int:
        return max(_FIRST_LOOK, 2 * seen)

    def _look(self) -> None:
        counts = np.sort(self._counted.entries()[1])[::-1].astype(np.float64)
        shares = counts / counts.sum()
        self.choices = least_choices(shares[shares * self.lanes >= self.heat], self.lanes)

    def _choices(self) -> int:
        return 0 if self.choices >= self.lanes else self.choices


def least_choices(head: NDArray[np.float64], lanes: int) -> int:
    """Return the least number of choices that level lanes need, given the hot keys' shares.

    >>> least_choices(np.array([0.5]), lanes=10), least_choices(np.array([]), lanes=10)
    (10, 2)
    """
    n = lane_count(lanes)
    if head.size == 0 or n <= 2:
        return min(2, n)
    first = np.cumsum(head)
    rest, tail = first[-1] - first, max(0.0, 1.0 - float(first[-1]))
    keys = np.arange(1, head.size + 1)
    for choices in range(2, n):
        reached = n - n * (1 - 1 / n) ** (keys * choices)
        part = reached / n
        load = first + part**choices * rest + part**2 * tail
        if (load <= reached * (1 / n + _SLACK)).all():
            return choices
    return n
