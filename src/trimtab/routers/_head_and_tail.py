"""Hot keys over many lanes, all others over two: what d-choices, w-choices and fish share.

A key is of the head while its share of the tuples counted so far is at least `heat / lanes`. How
many candidates it has then is what the three differ in.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import choice, kernel, salts
from trimtab._parameters import LANES, SEED, Parameter, Real
from trimtab._table import KeyTable, Table
from trimtab.routers._cold_keys import count_in_map
from trimtab.routers._restarting import ENDLESS, RestartingRouter

MOST_CHOICES = 64
"""Hash functions at most; a key that needs more candidates may go to any lane."""

_LEAST_SIGHTINGS = 10
"""A key that was seen less often may look hot by chance."""

_SEEN, _TOP, _STOP = 0, 1, 2
"""Places in `_clock`: tuples counted, the most frequent key's count, where to stop and look."""

BY_CLASS = -1
"""Choices that go by a key's frequency: half as many for half the count of the top key."""

HEAT = Parameter(
    "heat", 0.2, Real(0.001, 1000), "multiple of a fair share that is hot; less splits more keys"
)


class HeadAndTailRouter(RestartingRouter):
    """Count every key; give hot ones more than two candidates.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    heat
        Multiple of a lane's fair share from which on a key is hot.
    seed
        Chooses the hash functions.
    endless
        Whether loads and counts go on, however many batches `advance` ends.
    """

    splits_keys = True
    takes: ClassVar[tuple[Parameter[Any], ...]] = (LANES, HEAT, SEED, ENDLESS)
    _learned: ClassVar[tuple[str, ...]] = ("_counted", "_clock")

    def __init__(self, lanes: int, heat: float = 0.2, seed: int = 0, endless: bool = False) -> None:
        super().__init__(lanes, seed, endless)
        self.heat = self._check(HEAT, heat)
        self._salts = salts(self.seed, MOST_CHOICES)
        self._counted = KeyTable()
        self._clock: NDArray[np.int64] = np.array([0, 0, self._next_stop(0)], dtype=np.int64)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return a threshold so low that a test has many hot keys."""
        return ({"heat": 0.02},)

    def _next_stop(self, seen: int) -> int:
        """Return after how many counted tuples the router looks at its counts; 0 is never."""
        return 0

    def _look(self) -> None:
        """Look at the counts."""

    def _choices(self) -> int:
        """Return how many candidates a hot key has: 0 for all lanes, or `BY_CLASS`."""
        return 0

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        done = 0
        while done < hashes.size:
            if 2 * len(self._counted) >= self._counted.keys.size:
                self._counted.grow()
            if self._clock[_SEEN] == self._clock[_STOP] > 0:
                self._look()
                self._clock[_STOP] = self._next_stop(int(self._clock[_SEEN]))
            done = _route(
                (hashes, lanes, done),
                self._loads,
                self._counted.arrays,
                self._clock,
                self._salts,
                self.heat,
                self._choices(),
            )

    def _forget(self) -> None:
        self._counted.clear()
        self._clock[:] = (0, 0, self._next_stop(0))

    def _restored(self) -> None:
        # Counts are never zero, and the table gives room only to keys that have one.
        if self._clock.shape != (3,):
            self._clock = np.array([0, 0, self._next_stop(0)], dtype=np.int64)


@kernel
def _route(
    stream: tuple[NDArray[np.uint64], NDArray[np.int32], int],
    loads: NDArray[np.int64],
    counted: Table,
    clock: NDArray[np.int64],
    salts: NDArray[np.uint64],
    heat: float,
    hot_choices: int,
) -> int:
    """Route from a position on; stop where the table is half full, or where a look is due."""
    hashes, lanes, start = stream
    done = start
    keys, counts, used = counted
    n = np.uint64(loads.size)
    seen, top, stop = clock[_SEEN], clock[_TOP], clock[_STOP]
    for i in range(start, hashes.size):
        if 2 * used[0] >= keys.size or (seen == stop and i > start):
            break
        key = hashes[i]
        count = count_in_map(keys, counts, used, key)
        seen += 1
        top = max(top, count)
        choices = 2
        if count >= _LEAST_SIGHTINGS and count * loads.size >= heat * seen:
            choices = hot_choices
            if hot_choices == BY_CLASS:
                choices = loads.size
                halved = 2 * count
                while halved <= top:
                    choices //= 2
                    halved *= 2
                choices = max(2, choices)
            if choices >= loads.size or choices > salts.size:
                choices = 0
        if choices == 0:
            lane = np.int64(0)
            for other in range(1, loads.size):
                if loads[other] < loads[lane]:
                    lane = np.int64(other)
        else:
            lane = choice(key, salts[0], n)
            for c in range(1, choices):
                candidate = choice(key, salts[c], n)
                if loads[candidate] < loads[lane]:
                    lane = candidate
        lanes[i] = lane
        loads[lane] += 1
        done = i + 1
    clock[_SEEN], clock[_TOP] = seen, top
    return done
