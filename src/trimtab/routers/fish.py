"""FISH's idea: hot keys of the recent past, and candidates in proportion to how hot they are."""

from __future__ import annotations

from typing import Any, ClassVar

from trimtab._parameters import LANES, SEED, Parameter, Whole
from trimtab.routers._head_and_tail import (
    BY_CLASS,
    HEAT,
    HeadAndTailRouter,
)
from trimtab.routers._restarting import ENDLESS

EPOCH = Parameter("epoch", 10_000, Whole(1, 1 << 40), "tuples after which counts are halved")


class FishRouter(HeadAndTailRouter):
    """Count by epochs, halve what is past, and give half as hot a key half as many candidates.

    A hot key with more than `top / 2^k` of the top key's count and no more than `top / 2^(k-1)`,
    has `lanes / 2^(k-1)` candidates, two at least; all other keys have two. Counts are halved
    after every `epoch` tuples: a key that was hot is forgotten after a few epochs.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    epoch
        Tuples per epoch, 1 or more. Fewer follow drift sooner, and see chance as heat.
    heat
        Multiple of a lane's fair share from which on a key is hot, in [0.001, 1000].
    seed
        Chooses the hash functions.
    endless
        Whether loads go on, however many batches `advance` ends. Counts always do.

    Examples
    --------
    >>> import numpy as np
    >>> from trimtab import hash_keys
    >>> from trimtab.workloads import zipf_ids
    >>> r = FishRouter(lanes=16, seed=1)
    >>> loads = np.bincount(r.route(hash_keys(zipf_ids(100_000, 10_000, 1.5, seed=1))))
    >>> print(round(loads.max() / loads.mean() - 1, 2))
    0.0

    References
    ----------
    The epoch-based counting of recent hot keys, and the classes of hot keys, of FISH (Efficient
    grouping of time-evolving data streams).

    Notes
    -----
    Written from the idea, without the paper's text. What it says of workers' waiting times is left
    to the loads of the lanes, which `cg` and the speeds of lanes go beyond. Counts are exact, and
    keys whose count falls to zero are forgotten.
    """

    name = "fish"
    paper = "FISH: recent hot keys, by epochs"
    takes = (LANES, EPOCH, HEAT, SEED, ENDLESS)
    cost = "a count per tuple; for a hot key up to a look at each lane"
    state_in_words = "counts of the recent keys"
    use_when = "hot keys change, and merging split ones is cheap"
    complexity = 360

    _learned: ClassVar[tuple[str, ...]] = ("_counted", "_clock")

    def __init__(
        self,
        lanes: int,
        epoch: int = 10_000,
        heat: float = 0.2,
        seed: int = 0,
        endless: bool = False,
    ) -> None:
        self.lanes = lanes
        self.epoch = self._check(EPOCH, epoch)
        super().__init__(lanes, heat, seed, endless)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return epochs so short that a test passes many of them."""
        return ({"epoch": 100, "heat": 0.5},)

    def _next_stop(self, seen: int) -> int:
        return seen + self.epoch

    def _look(self) -> None:
        """End an epoch: halve all counts, and forget those that are gone."""
        keys, counts = self._counted.entries()
        kept = counts >= 2
        halves = counts[kept] // 2
        self._counted.fill(keys[kept], halves)
        self._clock[:2] = int(halves.sum()), int(halves.max(initial=0))

    def _choices(self) -> int:
        return BY_CLASS

    def _forget(self) -> None:
        """Keep the counts: what was hot in the last batch is hot in the next."""
