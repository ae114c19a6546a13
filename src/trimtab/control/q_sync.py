"""Dalton's cooperation: one reducer turns the Q-tables of many partitioners into a global one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import lane_count, real, whole
from trimtab._format import Format
from trimtab._key_arrays import find_keys
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers._dalton_learner import WORST
from trimtab.routers._dalton_sync import GlobalTable, SyncMessage
from trimtab.routers.dalton import HEAT

_FORMAT = Format("trimtab.q-table-reducer", 1, "the state of a QTableReducer")
_LONGEST = 1 << 30


class QTableReducer:
    """Merge the messages of cooperating `dalton` routers, round by round.

    With f(k) the sightings of key k in all messages of a round and GL the tuples they stand for, k
    is globally hot if `f(k) > heat x GL / lanes`. Its global values are the mean of the local ones,
    weighted by how often each partitioner saw the key:
    `Q(k, lane) = sum_j f_j(k) Q_j(k, lane) / sum_j f_j(k)`.

    Parameters
    ----------
    lanes
        Number of destinations, as in the routers.
    partitioners
        Number of routers, each of which sends one message per round.
    interval
        Tuples between two messages of a router, to start with: the routers' `stats_window`. A
        longer one costs less and lets policies drift apart.
    shortest
        The interval never falls below it; None takes `lanes`.
    heat
        Multiple of a lane's fair share that makes a key hot; as in the routers.

    Examples
    --------
    >>> import numpy as np
    >>> from trimtab import router
    >>> pair = [
    ...     router("dalton", lanes=4, stats_window=1000, cooperate=True, seed=s) for s in (1, 2)
    ... ]
    >>> reducer = QTableReducer(lanes=4, partitioners=2, interval=1000)
    >>> stream = np.where(np.arange(1000) % 2, 42, np.arange(1000) + 100).astype(np.uint64)
    >>> for r in pair:
    ...     _ = r.route(stream)
    >>> table = reducer.merge([r.sync_message() for r in pair])
    >>> for r in pair:
    ...     r.receive(table)
    >>> pair[0].hot_keys().tolist(), table.records
    ([42], 2000)

    References
    ----------
    Dalton, Section 4.1 and Algorithm 2.

    Notes
    -----
    - The paper's mean divides the weights by GL and the sum by the number of partitioners. Such
      weights add up to far less than one: every value would shrink towards 0 and so rise above all
      rewards that are learned later, and lanes that nobody has tried would look best. Ours add up
      to one for each key. Partitioners that hold no values for a key have no say in its mean; a key
      without any values starts as a new one does.
    - A key that is missing from a partitioner's list counts as unseen there, so f(k) falls short
      by at most that partitioner's tuples over `lanes / heat + 1`.
    - A key that is hot in a round stays so for two further windows: the one in which the table
      arrives, and the next until its own table arrives.
    - Times come from the caller, in any unit, since decisions must not depend on a clock.
    """

    def __init__(
        self,
        lanes: int,
        partitioners: int,
        interval: int,
        shortest: int | None = None,
        heat: float = HEAT.default,
    ) -> None:
        self.lanes = lane_count(lanes)
        self.partitioners = whole("partitioners", partitioners, 1)
        self.heat = real("heat", heat, 0.001, 1000)
        self.interval = whole("interval", interval, 1, _LONGEST)
        self.shortest = whole("shortest", self.lanes if shortest is None else shortest, 1, _LONGEST)
        self._keys: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._until: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def merge(
        self, messages: Sequence[SyncMessage], idle: float = 0.0, worked: float = 0.0
    ) -> GlobalTable:
        """Return the answer to one round of messages, one from each partitioner.

        `idle` and `worked` are the times that the reducer has waited and worked since the last
        round. A partitioner that got its last answer too late doubles the interval; without one,
        a reducer that waits longer than it works halves it.
        """
        turn = self._check(messages)
        records = sum(message.records for message in messages)
        self._find_hot(messages, records, turn)
        self._adapt(messages, idle, worked)
        return GlobalTable(
            round=turn,
            records=records,
            interval=self.interval,
            keys=self._keys.copy(),
            values=self._mean_values(messages),
            until=self._until.copy(),
            loads=np.sum([message.loads for message in messages], axis=0),
        )

    def _check(self, messages: Sequence[SyncMessage]) -> int:
        rounds = sorted({message.round for message in messages})
        if len(messages) != self.partitioners or len(rounds) != 1:
            raise InvalidArgument(
                f"expected {self.partitioners} messages of one round, one from each partitioner; "
                f"got {len(messages)} of rounds {rounds}"
            )
        widths = {message.loads.size for message in messages}
        if widths != {self.lanes}:
            raise InvalidArgument(
                f"messages are for {sorted(widths)} lanes; this reducer has {self.lanes}"
            )
        return rounds[0]

    def _find_hot(self, messages: Sequence[SyncMessage], records: int, turn: int) -> None:
        every_key = np.concatenate([message.top_keys for message in messages])
        every_count = np.concatenate([message.top_counts for message in messages])
        keys, where = np.unique(every_key, return_inverse=True)
        counts = np.zeros(keys.size, dtype=np.int64)
        np.add.at(counts, where, every_count)
        hot = keys[counts > math.floor(Fraction(self.heat) * records / self.lanes)]
        kept = (self._until > turn) & ~np.isin(self._keys, hot)
        all_keys = np.concatenate([hot, self._keys[kept]])
        until = np.concatenate([np.full(hot.size, turn + 2, dtype=np.int64), self._until[kept]])
        order = np.argsort(all_keys)
        self._keys, self._until = all_keys[order], until[order]

    def _mean_values(self, messages: Sequence[SyncMessage]) -> NDArray[np.float64]:
        keys = self._keys
        weighted = np.zeros((keys.size, self.lanes))
        plain = np.zeros((keys.size, self.lanes))
        weights, holders = np.zeros(keys.size), np.zeros(keys.size)
        for message in messages:
            rows, positions = _matches(message.keys, keys)
            seen, places = _matches(message.top_keys, keys)
            sightings = np.zeros(keys.size)
            sightings[places] = message.top_counts[seen]
            weighted[positions] += sightings[positions, None] * message.values[rows]
            plain[positions] += message.values[rows]
            weights[positions] += sightings[positions]
            holders[positions] += 1.0
        made = np.full((keys.size, self.lanes), WORST)
        # Values for a key that nobody saw in this round count alike.
        unseen = (holders > 0) & (weights == 0)
        made[unseen] = plain[unseen] / holders[unseen, None]
        known = weights > 0
        made[known] = weighted[known] / weights[known, None]
        return made

    def _adapt(self, messages: Sequence[SyncMessage], idle: float, worked: float) -> None:
        idle, worked = real("idle", idle, 0), real("worked", worked, 0)
        if any(message.double for message in messages):
            self.interval = min(2 * self.interval, _LONGEST)
        elif idle > worked:
            self.interval = max(self.interval // 2, min(self.interval, self.shortest))

    def state(self) -> dict[str, Any]:
        """Return everything the reducer knows: JSON values and plain arrays, all copies."""
        names = ("lanes", "partitioners", "interval", "shortest", "heat")
        return {
            **_FORMAT.head(),
            "parameters": {name: getattr(self, name) for name in names},
            "arrays": {"keys": self._keys.copy(), "until": self._until.copy()},
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Make a reducer that goes on exactly where the one that gave `state` stood."""
        _FORMAT.check(state, "the given state")
        try:
            made = cls(**state["parameters"])
            made._keys = np.array(state["arrays"]["keys"], dtype=np.uint64)
            made._until = np.array(state["arrays"]["until"], dtype=np.int64)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptState(f"state of a QTableReducer is damaged: {error}") from error
        if made._keys.ndim != 1 or made._keys.shape != made._until.shape:
            raise CorruptState("state of a QTableReducer has keys and until of different lengths")
        return made


def _matches(
    given: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which of `given` are in the sorted `keys`, and where."""
    positions, is_there = find_keys(keys, given)
    return np.flatnonzero(is_there), positions[is_there]


__all__ = ["GlobalTable", "QTableReducer", "SyncMessage"]
