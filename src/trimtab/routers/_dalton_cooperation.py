"""Dalton among several partitioners: what it sends to the reducer and what it takes back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import InvalidArgument
from trimtab.routers._cold_keys import forget_counts
from trimtab.routers._dalton_learner import COUNT, UNTIL, adopt, settle, start_window
from trimtab.routers._dalton_state import HOT, NOBODY, SEEN, THRESHOLD, WINDOW, DaltonState
from trimtab.routers._dalton_sync import GlobalTable, SyncMessage


def hot_threshold(load: int, lanes: int, heat: float) -> int:
    """Return the least count that is `heat x load / lanes` or more; without load nothing is hot."""
    return math.ceil(Fraction(heat) * load / lanes) if load else NOBODY


class CooperatingDalton(DaltonState):
    """Algorithm 2: learn (PREPARE), send a message, gather rewards until the answer (AWAIT)."""

    @property
    def awaiting(self) -> bool:
        """Whether a message was sent and not yet answered."""
        return self._awaiting

    @property
    def sync_due(self) -> bool:
        """Whether the synchronisation interval has passed since the last message."""
        return self.cooperate and not self._awaiting and self._clock[SEEN] >= self._interval

    def sync_message(self) -> SyncMessage:
        """End the statistics window and return the message to send.

        Call it between two batches when `sync_due` says so; earlier is allowed. Until the answer is
        received, rewards are gathered instead of being learned.
        """
        self._require_cooperation()
        if self._awaiting:
            raise InvalidArgument(
                "the last sync message is not answered yet; call receive with the reducer's answer"
            )
        used, window = int(self._used[0]), int(self._clock[WINDOW])
        hot = np.flatnonzero(self._facts[:used, UNTIL] >= window)
        top_keys, top_counts = self._top_keys()
        message = SyncMessage(
            round=window,
            records=int(self._clock[SEEN]),
            double=self._late,
            keys=self._keys[hot],
            values=self._values[hot],
            top_keys=top_keys,
            top_counts=top_counts,
            loads=self._loads.copy(),
        )
        forget_counts(self._cold_keys(), choose=False)
        self._clock[WINDOW] += 1
        self._clock[SEEN] = 0
        self._clock[HOT] = start_window(self._rows(), window + 1, self._oldest)
        self._sent[:] = self._loads
        self._sent_total[:] = self.loads()
        self._sent_records = message.records
        self._sent_slide = self._slide
        self._late = False
        self._awaiting = True
        return message

    def receive(self, table: GlobalTable) -> None:
        """Take the reducer's answer: its Q-table, its loads and its interval.

        The rewards gathered since the message are paid into the new table. A key that is hot here
        but not in the answer stops being split.
        """
        self._require_cooperation()
        window = int(self._clock[WINDOW])
        if not self._awaiting or table.round != window - 1:
            expected = f"round {window - 1}" if self._awaiting else "no answer"
            raise InvalidArgument(
                f"expected {expected}; got the global table of round {table.round}; give each "
                "table once to each partitioner"
            )
        if table.loads.size != self.lanes:
            raise InvalidArgument(
                f"the global table has {table.loads.size} lanes; this router has {self.lanes}"
            )
        used = int(self._used[0])
        # A key that became hot after the message was sent cannot be in the answer.
        since = self._facts[:used, COUNT] >= self._clock[THRESHOLD]
        only_here = ~since & ~np.isin(self._keys[:used], table.keys)
        self._facts[:used, UNTIL][only_here] = window - 1
        done = 0
        while done < table.keys.size:
            self._make_room()
            done = adopt(
                self._rows(), done, table.keys, table.values, table.until, self._slide, self._oldest
            )
        settle(self._rows())
        self._clock[HOT] = np.count_nonzero(self._facts[: self._used[0], UNTIL] >= window)
        self._clock[THRESHOLD] = hot_threshold(table.records, self.lanes, self.heat)
        here = self._sent_records
        self._echo = (table.records - here) / here if here else 0.0
        passed = self._slide - self._sent_slide
        # Where the whole window has passed since the message, so have the loads that it told of.
        self._foreign[:] = table.loads - self._sent if passed < self.slides else 0
        if passed == 0:
            self._anchor[:] = self._sent_total
        self._late = bool(self._clock[SEEN] >= self._interval)
        self._interval = table.interval
        self._awaiting = False

    def advance(self) -> None:
        """End a slide: what leaves the window here leaves it at the others, too.

        What the others have routed since they were last heard of is set down as assumed.
        """
        if self.cooperate:
            here = self.loads()
            self._foreign += np.floor(self._echo * (here - self._anchor)).astype(np.int64)
            self._anchor[:] = here
            self._foreign_ring[self._slide % self.slides] = self._foreign - self._foreign_start
            leaving = self._foreign_ring[(self._slide + 1) % self.slides]
            self._foreign -= leaving
            leaving[:] = 0
            self._foreign_start[:] = self._foreign
        super().advance()

    def _top_keys(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the window's most frequent keys, each once, at most `lanes / heat` of them."""
        used = self._used[0]
        cold, sightings = self._counted.entries()
        # A key that became hot in this window left its first sightings in the map of cold keys.
        cold_only = ~np.isin(cold, self._keys[:used])
        keys = np.concatenate([self._keys[:used], cold[cold_only]])
        counts = np.concatenate([self._facts[:used, COUNT], sightings[cold_only].astype(np.int64)])
        order = np.lexsort((keys, -counts))[: math.ceil(self.lanes / self.heat)]
        order = order[counts[order] > 0]
        return keys[order], counts[order]

    def _require_cooperation(self) -> None:
        if not self.cooperate:
            raise InvalidArgument("this Dalton works alone; make it with cooperate=True")
