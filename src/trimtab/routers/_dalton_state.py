"""The arrays behind Dalton: rows of hot keys, statistics of cold ones, and how they grow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._table import KeyTable, Table
from trimtab.errors import CorruptState
from trimtab.routers._cold_keys import EXACT, MANY_KEYS, SKETCH, ColdKeys, sketch_cells
from trimtab.routers._dalton_learner import BEST, FACTS, FAN, UNTIL, Rows, recount_fans
from trimtab.routers._sliding_window import SlidingWindowRouter

# Positions in the array of numbers that kernels and Python share.
DRAWS = 0  # random words drawn so far
SEEN = 1  # tuples in the current statistics window
WINDOW = 2  # its number
HOT = 3  # hot keys
THRESHOLD = 4  # sightings that make a key hot
NUMBERS = 5

NOBODY = 1 << 62
"""A threshold that no key reaches, and a length that no window reaches."""

_FIRST_ROWS = 4

_LANE_FIELDS = ("_foreign", "_foreign_start", "_anchor", "_sent", "_sent_total")
_ROW_FIELDS = ("_keys", "_facts", "_runner_up", "_values", "_stamps", "_credit", "_decay")


class DaltonState(SlidingWindowRouter):
    """What Dalton has learned, and the facts about it that callers may ask for.

    Subclasses set `statistics`, `heat` and `cooperate`, then call `_allocate`.
    """

    statistics: str
    heat: float
    cooperate: bool

    _echo: float
    """Tuples that the others are assumed to have routed since `_anchor`, for each one here."""
    _foreign: NDArray[np.int64]
    """Window loads of all other partitioners, up to `_anchor`."""
    _foreign_start: NDArray[np.int64]
    """Those loads when the slide began."""
    _anchor: NDArray[np.int64]
    """Tuples sent to each lane here, from the start to the last answered message, or to the end of
    the last slide if that came later."""
    _sent: NDArray[np.int64]
    """Window loads of this router in its last message, answered or not."""
    _sent_total: NDArray[np.int64]
    """Tuples sent to each lane here, from the start to the last message, answered or not."""

    _learned = (
        *SlidingWindowRouter._learned,
        *("_clock", "_used", *_ROW_FIELDS),
        *("_counted", "_sketch", "_flags", "_mode"),
        *(
            "_awaiting",
            "_late",
            "_interval",
            "_echo",
            "_foreign",
            "_foreign_start",
            "_foreign_ring",
            "_anchor",
            "_sent",
            "_sent_total",
            "_sent_records",
            "_sent_slide",
        ),
    )

    def _allocate(self, interval: int) -> None:
        rows, lanes = _FIRST_ROWS, self.lanes
        # Only cooperating routers gather rewards while an answer is under way.
        gathering = rows if self.cooperate else 0
        self._clock: NDArray[np.int64] = np.zeros(NUMBERS, dtype=np.int64)
        self._used: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._keys: NDArray[np.uint64] = np.zeros(rows, dtype=np.uint64)
        self._facts: NDArray[np.int64] = np.zeros((rows, FACTS), dtype=np.int64)
        self._runner_up: NDArray[np.float64] = np.zeros(rows)
        self._values: NDArray[np.float64] = np.zeros((rows, lanes))
        self._stamps: NDArray[np.int32] = np.zeros((rows, lanes), dtype=np.int32)
        self._credit: NDArray[np.float64] = np.zeros((gathering, lanes))
        self._decay: NDArray[np.float64] = np.ones((gathering, lanes))
        self._table = KeyTable()

        sketching = self.statistics != "exact" and not self.cooperate
        self._counted = KeyTable()
        self._sketch = sketch_cells(lanes, self.heat if sketching else None)
        self._flags: NDArray[np.uint8] = np.zeros(MANY_KEYS if sketching else 0, dtype=np.uint8)
        self._mode: NDArray[np.int64] = np.full(
            1, SKETCH if self.statistics == "count-min" else EXACT, dtype=np.int64
        )

        self._awaiting = False
        self._late = False
        self._interval = interval
        self._echo = 0.0
        self._sent_records = 0
        self._sent_slide = 0
        self._foreign_ring: NDArray[np.int64] = np.zeros(
            (self.slides if self.cooperate else 0, lanes), dtype=np.int64
        )
        for field in _LANE_FIELDS:
            setattr(self, field, np.zeros(lanes, dtype=np.int64))

    def hot_keys(self) -> NDArray[np.uint64]:
        """Return the keys that the bandit routes at the moment, in rising order."""
        used = self._used[0]
        hot = self._facts[:used, UNTIL] >= self._clock[WINDOW]
        return np.sort(self._keys[:used][hot])

    def split_keys(self) -> NDArray[np.uint64]:
        """Return the keys that this router has put on several lanes of the window, in rising order.

        All other keys are whole, each on the lane that its hash names: their partial results may
        be forwarded without being merged (Section 4.2), unless other partitioners share the lanes.
        """
        used = self._used[0]
        return np.sort(self._keys[:used][self._facts[:used, FAN] > 1])

    def _rows(self) -> Rows:
        return Rows(
            self._keys,
            self._facts,
            self._runner_up,
            self._values,
            self._stamps,
            self._credit,
            self._decay,
            Table(self._table.keys, self._table.slots, self._used),
        )

    def _cold_keys(self) -> ColdKeys:
        return ColdKeys(self._counted.arrays, self._sketch, self._flags, self._mode)

    def _make_room(self) -> None:
        """Grow what has no room for one more key."""
        if 2 * len(self._counted) >= self._counted.keys.size:
            self._counted.grow()
        if self._used[0] == self._keys.size:
            for field in _ROW_FIELDS:
                array = getattr(self, field)
                setattr(self, field, np.concatenate([array, np.zeros_like(array)]))
            self._find_rows()

    def _find_rows(self) -> None:
        """Make the table that finds rows by key; it has room for as many rows as there can be."""
        self._table = KeyTable(self._keys.size)
        used = self._used[0]
        self._table.fill(self._keys[:used], np.arange(used, dtype=np.int32))

    def _expire_fragments(self) -> None:
        recount_fans(self._rows(), self._oldest)

    def _restored(self) -> None:
        super()._restored()
        self._require_shape("_clock", (NUMBERS,))
        self._require_shape("_used", (1,))
        rows, lanes = self._keys.size, self.lanes
        self._require_shape("_facts", (rows, FACTS))
        self._require_shape("_runner_up", (rows,))
        for field in ("_values", "_stamps"):
            self._require_shape(field, (rows, lanes))
        for field in ("_credit", "_decay"):
            self._require_shape(field, (rows if self.cooperate else 0, lanes))
        for field in _LANE_FIELDS:
            self._require_shape(field, (lanes,))
        self._require_shape("_foreign_ring", (self.slides if self.cooperate else 0, lanes))
        fresh = type(self)(**self.parameters())
        for field in ("_sketch", "_flags", "_mode"):
            self._require_shape(field, getattr(fresh, field).shape)
        used = self._used[0]
        if not 0 <= used <= rows or np.unique(self._keys[:used]).size != used:
            raise CorruptState(f"state of router {self.name!r} has unusable rows of hot keys")
        if self._mode[0] not in (EXACT, SKETCH if self._sketch.size else EXACT):
            raise CorruptState(f"state of router {self.name!r} counts in an unknown way")
        best = self._facts[:used, BEST]
        if ((best < 0) | (best >= lanes)).any():
            raise CorruptState(f"state of router {self.name!r} names lanes that do not exist")
        self._find_rows()
