"""Time-based blocks: the lane is the part of the batch interval in which a tuple arrived."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._parameters import LANES, SEED, Parameter, Whole
from trimtab.errors import InvalidArgument
from trimtab.routers.base import Router

INTERVAL = Parameter(
    "interval", 100_000, Whole(1, 1 << 40), "ticks per batch interval, one per tuple"
)


class TimeRouter(Router):
    """Cut the batch interval into `lanes` equal periods and give each period's tuples to one lane.

    At a constant rate all blocks are equal; when the rate changes inside an interval, block sizes
    change with it. Keys are placed by accident: a key may be on every lane.

    Parameters
    ----------
    lanes
        Number of destinations (blocks), 1 or more.
    interval
        Length of the batch interval in ticks, 1 or more. Unless `route` is given arrival times,
        each tuple takes one tick, so that this is the number of tuples expected in a batch.
    seed
        Taken for the sake of the contract; there is nothing random here.

    Examples
    --------
    >>> import numpy as np
    >>> r = TimeRouter(lanes=3, interval=6)
    >>> r.route(np.zeros(8, dtype=np.uint64)).tolist()
    [0, 0, 1, 1, 2, 2, 2, 2]
    >>> r.advance()
    >>> r.route(np.zeros(3, dtype=np.uint64), times=[0, 5, 5]).tolist()
    [0, 2, 2]

    References
    ----------
    Prompt, Section 2.2.1.

    Notes
    -----
    A tuple that arrives after the interval's end, because more came than expected, belongs to the
    last block until `advance` starts the next interval.
    """

    name = "time"
    paper = "Spark Streaming's blocks; baseline of Prompt"
    takes = (LANES, INTERVAL, SEED)
    ignores_keys = True
    cost = "one division per tuple"
    state_in_words = "a counter"
    use_when = "to compare with Spark Streaming's blocks"
    complexity = 20

    _learned = ("_ticks",)

    def __init__(self, lanes: int, interval: int = 100_000, seed: int = 0) -> None:
        super().__init__(lanes, seed)
        self.interval = self._check(INTERVAL, interval)
        self._ticks = 0

    def route(self, hashes: ArrayLike, times: ArrayLike | None = None) -> NDArray[np.int32]:
        """Return the block of each tuple; `times` are ticks since the interval's start."""
        if times is None:
            return super().route(hashes)
        ticks = np.asarray(times)
        if ticks.shape != np.shape(hashes) or (ticks.size and ticks.min() < 0):
            raise InvalidArgument(
                "times must be ticks >= 0 since the interval's start, one per hash; got "
                f"{ticks.size} times for {np.size(hashes)} hashes"
            )
        lanes = self._blocks(ticks.astype(np.int64))
        self._loads += np.bincount(lanes, minlength=self.lanes)
        return lanes

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        lanes[:] = self._blocks(np.arange(self._ticks, self._ticks + hashes.size))
        self._ticks += hashes.size
        self._loads += np.bincount(lanes, minlength=self.lanes)

    def _blocks(self, ticks: NDArray[np.int64]) -> NDArray[np.int32]:
        late = np.minimum(ticks, self.interval - 1)
        return (late * self.lanes // self.interval).astype(np.int32)

    def advance(self) -> None:
        """Begin the next batch interval."""
        self._ticks = 0
