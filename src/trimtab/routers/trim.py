"""Trim as a router: whole keys where they were, hot keys on just the lanes they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._leveling import LIGHT, move_hosts, pieces_needed, place_keys
from trimtab._parameters import LANES, SEED, SPLIT, Parameter, Real, Whole
from trimtab.errors import CorruptState
from trimtab.routers import _trim_kernel as kernels
from trimtab.routers.base import Router

TOLERANCE = 0.015
"""How far above the mean the plan for the next window may put a lane, as in the planner."""

WINDOW = Parameter(
    "window", 100_000, Whole(1, 1 << 31), "tuples per window; longer are leveller and follow later"
)
SLACK = Parameter(
    "slack",
    0.015,
    Real(0, 1, low_open=True, high_open=True),
    "how far ahead a lane may be; lower is leveller and moves more keys",
)
HOSTS_PER_LANE = Parameter("hosts_per_lane", 64, Whole(1, 4096), "hosts for the tail, per lane")


class TrimRouter(Router):
    """Our own router: per window, level lanes at the least replication.

    A key gets a further lane when all of its lanes are ahead and it has filled them: when its share
    of the tuples so far, times `lanes`, exceeds their number. So at the window's end it is, but for
    chance, on `ceil(share x lanes)` lanes, the fewest with which no lane exceeds the mean. Where
    several keys share a lane that is ahead, the heaviest of them gets another first. Early in a
    window lanes may be further ahead than at its end: what is still to come may level them without
    replicas. A key's tuples go to whichever of its lanes is behind. A key that is new in the window
    goes to its host's lane, or to the emptiest lane if that one is ahead of the mean, and stays
    there. At the window's end the counts decide where the heavy keys and the hosts of the tail go
    next.

    From the second window of a stationary stream on, a window's `max/mean - 1` is at most 0.05 for
    windows of 100,000 tuples and 8 to 64 lanes. A window that is shorter than the one before it
    may be less level, but its fullest lane has no more than the mean of that one.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    split
        Whether hot keys may be on several lanes. Without it keys are whole inside a window.
    window
        Tuples after which a window ends by itself, 1 or more; `advance()` ends it at once. Longer
        windows are leveller and follow later.
    slack
        How far a lane may be ahead of the mean before new keys avoid it, as a part of a lane's
        share of the window, in (0, 1). Lower is leveller, and moves more keys between windows.
    hosts_per_lane
        Hosts for the tail, per lane, 1 or more.
    seed
        Taken for the sake of the contract; nothing here is random.

    Examples
    --------
    >>> one_key = np.full(8000, 42, dtype=np.uint64)
    >>> r = TrimRouter(lanes=4, window=8000)
    >>> (np.bincount(r.route(one_key)) / 8000).round(2).tolist()
    [0.25, 0.25, 0.25, 0.25]

    Notes
    -----
    Beyond the papers. Like cAM it keeps a key where the window first put it; unlike cAM it knows
    from the last window which keys are heavy, and splits a key when, and only when, the key alone
    has filled its lanes. An empty window changes nothing, so `advance()` right after a window that
    ended by itself does no harm.
    """

    name = "trim"
    paper = "Trimtab"
    takes = (LANES, SPLIT, WINDOW, SLACK, HOSTS_PER_LANE, SEED)
    cost = "a table look-up per tuple, a plan per window"
    state_in_words = "hot keys, host table"
    use_when = "you do not know: level at the least replication"
    complexity = 350

    _learned = (
        "_hosts",
        "_entries",
        "_hot_lanes",
        "_hot_next",
        "_hot_head",
        "_hot_cursor",
        "_hot_check",
        "_numbers",
    )

    def __init__(
        self,
        lanes: int,
        split: bool = True,
        window: int = 100_000,
        slack: float = 0.015,
        hosts_per_lane: int = 64,
        seed: int = 0,
    ) -> None:
        super().__init__(lanes, seed)
        self.split = self._check(SPLIT, split)
        self.splits_keys = self.split
        self.window = self._check(WINDOW, window)
        self.slack = self._check(SLACK, slack)
        self.hosts_per_lane = self._check(HOSTS_PER_LANE, hosts_per_lane)
        self._hosts = np.arange(self.lanes * self.hosts_per_lane, dtype=np.int32) % np.int32(
            self.lanes
        )
        self._entries = kernels.empty_table(0)
        # A window has at most `lanes` keys above a lane's share, and the plan brings as many again;
        # the rest is room for keys that share a lane that is ahead. If it is used up, keys stay.
        self._hot_lanes = np.zeros(8 * self.lanes + 8, dtype=np.int32)
        self._hot_next = np.zeros(8 * self.lanes + 8, dtype=np.int32)
        self._hot_head = np.zeros(4 * self.lanes + 4, dtype=np.int32)
        self._hot_cursor = np.zeros(4 * self.lanes + 4, dtype=np.int32)
        self._hot_check = np.zeros(4 * self.lanes + 4, dtype=np.int64)
        self._numbers = np.zeros(kernels.NUMBERS, dtype=np.int64)
        self._numbers[kernels.EXPECTED] = self.window

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return whole keys, and windows so short that a test passes many of them."""
        return ({"split": False}, {"window": 64})

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        done = 0
        while done < hashes.size:
            if self._numbers[kernels.ROUTED] >= self.window:
                self.advance()
            elif self._numbers[kernels.USED] >= self._entries.shape[0] // 2:
                self._rebuild(2 * self._entries.shape[0])
            done = kernels.route(
                (hashes, lanes, done),
                self._loads,
                self._entries,
                self._hosts,
                self._hot_keys(),
                self._numbers,
                kernels.Settings(self.window, self.slack, self.split),
            )

    def _hot_keys(self) -> kernels.HotKeys:
        return kernels.HotKeys(
            self._hot_lanes, self._hot_next, self._hot_head, self._hot_cursor, self._hot_check
        )

    def _rebuild(self, keys: int) -> None:
        held = self._entries[self._entries[:, 1] != kernels.FREE]
        self._entries = kernels.empty_table(keys)
        kernels.insert_all(self._entries, held[:, 0].copy(), held[:, 1].copy())

    def advance(self) -> None:
        """End the window: decide from its counts where heavy keys and hosts belong next."""
        routed = int(self._numbers[kernels.ROUTED])
        if routed == 0:
            return
        target = routed / self.lanes
        # At most lanes / LIGHT keys can each hold LIGHT of a lane's share.
        most = min(int(self._numbers[kernels.USED]), int(self.lanes / LIGHT) + 1)
        keys = np.empty(most, dtype=np.uint64)
        counts = np.empty(most, dtype=np.float64)
        places = np.empty(most, dtype=np.int64)
        host_weights = np.zeros(self._hosts.size)
        found = kernels.summarise(self._entries, LIGHT * target, host_weights, keys, counts, places)
        order = np.lexsort((keys[:found], -counts[:found]))
        self._place(keys[order], counts[order], places[order], host_weights, target)
        steady = routed >= kernels.STEADY_LENGTH * self._numbers[kernels.EXPECTED]
        self._numbers[kernels.STEADY] = steady
        self._numbers[kernels.EXPECTED] = routed
        self._numbers[kernels.ROUTED] = 0
        self._end_window()

    def _place(
        self,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        places: NDArray[np.int64],
        host_weights: NDArray[np.float64],
        target: float,
    ) -> None:
        old = kernels.old_lanes(places, self.lanes, self._hot_keys())
        heaviest = float(counts[0]) if counts.size else 0.0
        level = target if self.split else max(target, heaviest)
        targets = np.full(self.lanes, level)
        needed = np.ones(keys.size, dtype=np.int32)
        if self.split:
            had = np.diff(old.starts).astype(np.int32)
            needed = pieces_needed(counts, had, level, TOLERANCE)
            needed = np.minimum(needed, np.int32(self.lanes))
        lane_of = np.empty(int(needed.sum()), dtype=np.int32)
        key_loads = np.zeros(self.lanes)
        host_loads = np.bincount(self._hosts, host_weights, self.lanes).astype(np.float64)
        place_keys(counts, needed, old, key_loads, host_loads, targets, TOLERANCE, lane_of)
        # New keys avoid lanes that are ahead anyway: hosts move only for what noise cannot explain.
        noise = 2.0 / np.sqrt(level)
        move_hosts(host_weights, self._hosts, key_loads + host_loads, targets, TOLERANCE + noise)
        if self._entries.shape[0] > 8 * self._numbers[kernels.USED]:
            self._entries = kernels.empty_table(int(self._numbers[kernels.USED]))
        self._numbers[kernels.USED] = keys.size
        self._numbers[kernels.HOT] = 0
        self._numbers[kernels.PIECES] = 0
        kernels.preload(
            self._entries, keys, needed, lane_of, self.lanes, self._hot_keys(), self._numbers
        )

    def _restored(self) -> None:
        fresh = type(self)(**self.parameters())
        for field in self._learned:
            found = getattr(self, field).shape
            expected = getattr(fresh, field).shape
            # Kernels index these without a test; only the table of keys grows.
            if field != "_entries" and found != expected:
                raise CorruptState(
                    f"state of router {self.name!r} has {field!r} of shape {found}; expected "
                    f"{expected}"
                )
