"""Consistent Grouping (CG): equal virtual workers, handed from busy lanes to idle ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._kernel import kernel, salts
from trimtab._parameters import LANES, SEED, Parameter, Whole
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers._capacity import EPSILON
from trimtab.routers._random_choices import assign, memo
from trimtab.routers._restarting import ENDLESS, RestartingRouter

VIRTUAL = Parameter(
    "virtual",
    10,
    Whole(1, 1 << 20, together=1 << 24),
    "virtual workers per lane; more follow capacities finer, replicate more",
)


class CgRouter(RestartingRouter):
    """Keep virtual workers equal, and give each lane as many as it says it can carry.

    Tuples go to `virtual x lanes` virtual workers by the power of random choices, so that
    `max load of a virtual worker <= ceil((1 + epsilon) x total / (virtual x lanes))`, where both
    count from the last `advance`. Each virtual worker belongs to one lane. Nothing is known about
    the lanes' capacities: a lane that signals "decrease" hands a virtual worker to a lane that
    signals "increase", or to one that is content. The number of virtual workers never changes.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    virtual
        Virtual workers per lane at the start, 1 or more. More of them follow the capacities more
        finely, need more signals to get there, and replicate keys more.
    epsilon
        Room of a virtual worker above the mean, 0 or more. A larger one splits fewer keys and
        allows more imbalance.
    seed
        Chooses the hash functions.
    endless
        Whether loads count from the start, however many batches `advance` ends, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> r = CgRouter(lanes=3, virtual=10, seed=1)
    >>> r.delegate([+1, 0, -1])
    1
    >>> r.virtual_workers().tolist()
    [11, 10, 9]
    >>> lanes = r.route(np.arange(3000, dtype=np.uint64))
    >>> np.bincount(lanes).tolist()
    [1107, 989, 904]

    References
    ----------
    Consistent Grouping, Sections 5.2 and 5.3.

    Notes
    -----
    One call of `delegate` is one time slot. A lane has at most one request waiting: the newest
    signal replaces the one before, and 0 takes it back, so that nothing is moved on old news.
    Requests are met first come, first served; those of one call count in the order of the lanes.
    Section 5.2 pairs busy lanes with idle ones only. Then an overloaded lane keeps its load for
    good once the others are just above "idle". So when no idle lane is left, we do as Section 6.1.2
    suggests and give to lanes that are content, one each, beginning with the one that was busy
    longest ago or never. What that section says of the case that all lanes are busy we leave out:
    it would only shift the overload around.

    A lane never gives away its last virtual worker. Signals come back with acknowledgements, so a
    lane that gets no tuples could never ask for work again. A busy lane hands over its virtual
    worker of the lowest number: that tends to be one that has moved before, so that fewer keys
    are touched.

    The paper speaks of a ring of virtual workers and of power of random choices; the two do not go
    together, and its experiments use the second. Its loads of virtual workers count from the start;
    ours restart with each batch, while lanes keep the virtual workers that they have.
    """

    name = "cg"
    paper = "Consistent Grouping, Section 5.2"
    takes = (LANES, VIRTUAL, EPSILON, SEED, ENDLESS)
    cost = "as porc, over virtual workers"
    state_in_words = "virtual workers"
    use_when = "lanes differ in speed, or their speed changes"
    complexity = 340

    _learned = ("_shares", "_owners", "_idle", "_busy", "_slot", "_last_busy")

    def __init__(
        self,
        lanes: int,
        virtual: int = 10,
        epsilon: float = 0.01,
        seed: int = 0,
        endless: bool = False,
    ) -> None:
        super().__init__(lanes, seed, endless)
        self.virtual = self._check(VIRTUAL, virtual)
        self.epsilon = self._check(EPSILON, epsilon)
        workers = self.virtual * self.lanes
        self._salt = salts(self.seed, 1)[0]
        self._memo = memo(workers)
        self._shares: NDArray[np.int64] = np.zeros(workers, dtype=np.int64)
        self._owners = (np.arange(workers) % self.lanes).astype(np.int32)
        self._idle: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._busy: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._slot = 0
        self._last_busy: NDArray[np.int64] = np.zeros(self.lanes, dtype=np.int64)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        assign(hashes, lanes, self._shares, self.epsilon, self._salt, self._memo)
        _hand_over(lanes, self._owners, self._loads)

    def _forget(self) -> None:
        self._shares[:] = 0
        # It knows which virtual workers are full.
        self._memo[:] = 0

    def virtual_workers(self) -> NDArray[np.int64]:
        """Return the number of virtual workers of each lane."""
        return np.bincount(self._owners, minlength=self.lanes)

    def delegate(self, signals: ArrayLike) -> int:
        """Take each lane's signal, move virtual workers, and say how many were moved.

        A signal is +1 (increase my load), -1 (decrease it) or 0 (leave it). Only later tuples are
        routed differently.
        """
        wishes = np.asarray(signals)
        if wishes.shape != (self.lanes,) or not np.isin(wishes, (-1, 0, 1)).all():
            raise InvalidArgument(
                f"signals must be {self.lanes} numbers, one per lane, each -1, 0 or +1; got "
                f"{signals!r}"
            )
        self._slot += 1
        self._last_busy[wishes == -1] = self._slot
        self._idle = _queue(self._idle, wishes == 1)
        self._busy = _queue(self._busy, (wishes == -1) & (self.virtual_workers() > 1))
        content = np.flatnonzero(wishes == 0)
        content = content[np.argsort(self._last_busy[content], kind="stable")]
        takers = np.concatenate([self._idle, content])
        moves = min(takers.size, self._busy.size)
        for taker, giver in zip(takers[:moves], self._busy[:moves], strict=True):
            self._owners[np.argmax(self._owners == giver)] = taker
        self._idle, self._busy = self._idle[moves:], self._busy[moves:]
        return moves

    def _restored(self) -> None:
        workers = self.virtual * self.lanes
        lanes = np.concatenate([self._owners, self._idle, self._busy])
        if (
            self._shares.shape != (workers,)
            or self._owners.shape != (workers,)
            or self._last_busy.shape != (self.lanes,)
            or lanes.min() < 0
            or lanes.max() >= self.lanes
        ):
            raise CorruptState(
                f"state of router 'cg' does not fit {self.lanes} lanes of {self.virtual} virtual "
                "workers; restore from an undamaged state"
            )


def _queue(waiting: NDArray[np.int64], asking: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Keep those who waited and still ask, in their order; the others who ask come after them."""
    still = waiting[asking[waiting]]
    new = asking.copy()
    new[still] = False
    return np.concatenate([still, np.flatnonzero(new)])


@kernel
def _hand_over(
    lanes: NDArray[np.int32], owners: NDArray[np.int32], loads: NDArray[np.int64]
) -> None:
    for i in range(lanes.size):
        lane = np.uint64(owners[np.uint64(lanes[i])])
        lanes[i] = lane
        loads[lane] += 1
