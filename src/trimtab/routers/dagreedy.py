"""DAGreedy: hot keys greedily by affinity minus load, the rest hashed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import Index, kernel
from trimtab._parameters import LANES, SEED, Parameter, Real
from trimtab._table import KeyTable, Table, locate, number_keys
from trimtab.errors import CorruptState
from trimtab.routers._cold_keys import (
    count_in_map,
    stats_window_length,
    stats_window_parameter,
)
from trimtab.routers._sliding_window import SLIDES, SlidingWindowRouter

SIGHTINGS = 10
"""A default window shows a hot key this often at least."""

STATS_WINDOW = stats_window_parameter(SIGHTINGS)
HEAT = Parameter(
    "heat", 0.01, Real(0.0001, 1000), "multiple of a fair share that is hot; more hashes more keys"
)

# Columns of a row of `_facts`, one per key that is hot or was so within the window.
COUNT = 0  # sightings in the current statistics window
UNTIL = 1  # last statistics window in which the key is hot
FIRST = 2  # first cell of the list of lanes that hold the key, -1 for none
FACTS = 3

# Columns of a cell of `_cells`.
LANE = 0
SLIDE = 1  # last slide in which the lane took the key
NEXT = 2  # next cell of the list, -1 for none

# Positions in the array of numbers.
SEEN = 0  # tuples in the current statistics window
WINDOW = 1  # its number
ROWS = 2  # rows in use
CELLS = 3  # cells in use, freed ones included
FREED = 4  # first freed cell, -1 for none
NUMBERS = 5

FULL = np.int64(2**40)
"""Above every load, yet so small that times the number of lanes it still fits a word."""


class DAGreedyRouter(SlidingWindowRouter):
    """Send each tuple of a hot key to the lane with the best score; hash all other keys.

    The score of a lane is `0.5 [it holds the key] - 0.5 (load - mean) / mean`, so a key leaves the
    lanes that hold it only for one that is emptier by more than the mean load. A key becomes hot
    when its count in the current statistics window exceeds `heat x load / lanes`. It stays hot for
    the rest of that window and the next, so fewer than `2 x lanes / heat` keys are hot at once.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    slides
        Slides per window, 1 or more; `advance` ends a slide. With more slides, loads and fragments
        are remembered for longer.
    stats_window
        Tuples per statistics window, at least `heat x lanes`; None takes `10 x lanes / heat`, and
        10,000 at least. A longer one tells hot from cold more surely and follows drift more slowly.
    heat
        Multiple of a lane's fair share that makes a key hot, in [0.0001, 1000]. Raising it hashes
        more keys.
    seed
        Taken for the sake of the contract; nothing is random here.

    Examples
    --------
    >>> import numpy as np
    >>> from trimtab import hash_keys
    >>> from trimtab.workloads import zipf_ids
    >>> stream = hash_keys(zipf_ids(200_000, 10_000, 1.5, seed=1))
    >>> loads = np.bincount(DAGreedyRouter(lanes=16).route(stream), minlength=16)
    >>> bool(loads.max() / loads.mean() < 1.5)
    True

    References
    ----------
    Pacaci and Ozsu, BeyondMR 2018, as the rival in Dalton, Sections 2 and 5.

    Notes
    -----
    - A tie goes to the lowest lane. Scores are compared as whole numbers, without rounding.
    - Dalton's paper gives no threshold; a hundredth of the fair share is from its authors' program.
      That one looks at the last slide. Ours counts as `dalton` does, so that keys are hot in the
      first window already and routing does not depend on how often `advance` is called.
    - The tuple that makes a key hot is still hashed.
    - Only two lanes can win: the emptiest that holds the key and the emptiest of all. The latter is
      followed from tuple to tuple, so the cost grows with the key's fan-out, not with the lanes.
    """

    name = "dagreedy"
    paper = "Pacaci and Ozsu; baseline of Dalton"
    takes = (LANES, SLIDES, STATS_WINDOW, HEAT, SEED)
    hashes_the_tail = True
    passes_to_learn = 1
    cost = "a count per tuple; for a hot key a look at each of its lanes"
    state_in_words = "keys of the window"
    use_when = "splitting hot keys by a rule, without learning"
    complexity = 400

    _learned = (
        *SlidingWindowRouter._learned,
        *("_numbers", "_counted", "_keys", "_facts", "_cells"),
    )

    def __init__(
        self,
        lanes: int,
        slides: int = 60,
        stats_window: int | None = None,
        heat: float = 0.01,
        seed: int = 0,
    ) -> None:
        super().__init__(lanes, slides, seed)
        self.heat = self._check(HEAT, heat)
        self.stats_window = stats_window_length(
            self._check(STATS_WINDOW, stats_window), self.lanes, self.heat, SIGHTINGS
        )
        self._most_cold = math.floor(Fraction(self.heat) * self.stats_window / self.lanes)
        self._numbers: NDArray[np.int64] = np.zeros(NUMBERS, dtype=np.int64)
        self._numbers[FREED] = -1
        self._counted = KeyTable()
        self._keys: NDArray[np.uint64] = np.zeros(16, dtype=np.uint64)
        self._facts: NDArray[np.int64] = np.zeros((16, FACTS), dtype=np.int64)
        self._cells: NDArray[np.int32] = np.zeros((64, 3), dtype=np.int32)
        self._table = KeyTable(self._keys.size)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return windows so short that a test passes many of them."""
        return ({"stats_window": 128},)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        done = 0
        while done < hashes.size:
            self._make_room()
            done = _route(
                (hashes, lanes, done),
                self._loads,
                self._rows(),
                self._counted.arrays,
                (self.stats_window, self._most_cold, self._slide),
            )

    def _rows(self) -> _Rows:
        return _Rows(self._numbers, self._keys, self._facts, self._cells, self._table.arrays)

    def _make_room(self) -> None:
        """Grow what has no room for one more key."""
        if 2 * len(self._counted) >= self._counted.keys.size:
            self._counted.grow()
        if self._numbers[CELLS] == self._cells.shape[0] and self._numbers[FREED] < 0:
            self._cells = np.concatenate([self._cells, np.zeros_like(self._cells)])
        if self._numbers[ROWS] == self._keys.size:
            self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
            self._facts = np.concatenate([self._facts, np.zeros_like(self._facts)])
            self._find_rows()

    def _find_rows(self) -> None:
        """Make the table that finds rows by key; it has room for as many rows as there can be."""
        self._table = KeyTable(self._keys.size)
        number_keys(self._table.arrays, self._keys, self._numbers[ROWS])

    def _expire_fragments(self) -> None:
        _expire(self._rows(), self._oldest)

    def _restored(self) -> None:
        super()._restored()
        self._require_shape("_numbers", (NUMBERS,))
        self._require_shape("_facts", (self._keys.size, FACTS))
        self._require_shape("_cells", (self._cells.shape[0], 3))
        rows, cells = self._numbers[ROWS], self._numbers[CELLS]
        links = np.concatenate(
            [self._facts[:rows, FIRST], self._cells[:cells, NEXT], self._numbers[[FREED]]]
        )
        followed = links[links >= 0]
        if (
            not (0 <= rows <= self._keys.size and 0 <= cells <= self._cells.shape[0])
            or np.unique(self._keys[:rows]).size != rows
            or not ((links >= -1) & (links < cells)).all()
            # A cell that two lists lead to could close a circle.
            or np.unique(followed).size != followed.size
            or not ((self._cells[:, LANE] >= 0) & (self._cells[:, LANE] < self.lanes)).all()
        ):
            raise CorruptState(f"state of router {self.name!r} has unusable rows of hot keys")
        self._find_rows()


class _Rows(NamedTuple):
    numbers: NDArray[np.int64]
    keys: NDArray[np.uint64]
    facts: NDArray[np.int64]
    cells: NDArray[np.int32]
    table: Table


@kernel
def _expire(rows: _Rows, oldest: int) -> None:
    """Take the lanes whose last slide has left the window off all lists."""
    numbers, facts, cells = rows.numbers, rows.facts, rows.cells
    for row in range(numbers[ROWS]):
        before = -1
        cell = facts[row, FIRST]
        while cell >= 0:
            after = np.int64(cells[cell, NEXT])
            if cells[cell, SLIDE] > oldest:
                before = cell
            else:
                if before >= 0:
                    cells[before, NEXT] = after
                else:
                    facts[row, FIRST] = after
                cells[cell, NEXT] = numbers[FREED]
                numbers[FREED] = cell
            cell = after


@kernel
def _start_window(rows: _Rows, n: int, window: int) -> None:
    """Count afresh and drop the rows of cold keys that are on no lane but their hash lane."""
    numbers, keys, facts, cells = rows.numbers, rows.keys, rows.facts, rows.cells
    kept = 0
    for row in range(numbers[ROWS]):
        facts[row, COUNT] = 0
        first = facts[row, FIRST]
        alone = first >= 0 and cells[first, NEXT] < 0
        home = np.int64(keys[row] % np.uint64(n))
        if facts[row, UNTIL] < window and (first < 0 or (alone and cells[first, LANE] == home)):
            if first >= 0:
                cells[first, NEXT] = numbers[FREED]
                numbers[FREED] = first
            continue
        keys[kept] = keys[row]
        for fact in range(FACTS):
            facts[kept, fact] = facts[row, fact]
        kept += 1
    if kept < numbers[ROWS]:
        numbers[ROWS] = kept
        number_keys(rows.table, keys, kept)


@kernel
def _route(
    stream: tuple[NDArray[np.uint64], NDArray[np.int32], int],
    loads: NDArray[np.int64],
    rows: _Rows,
    cold: Table,
    settings: tuple[int, int, int],
) -> int:
    """Route from a position on; stop early, and say where, when a table has no room left."""
    hashes, lanes, done = stream
    counted, counts, counted_used = cold
    stats_window, most_cold, slide = settings
    numbers, keys, facts, cells, table = rows
    table_keys, table_slots, _ = table
    n = loads.size
    total = np.int64(0)
    emptiest = 0
    for each in range(n):
        total += loads[each]
        emptiest = each if loads[each] < loads[emptiest] else emptiest
    for i in range(done, hashes.size):
        key = hashes[i]
        home = np.int64(key % np.uint64(n))
        lane: Index = home
        at = locate(table_keys, table_slots, key)
        row = np.int64(table_slots[at])
        if row >= 0:
            facts[row, COUNT] += 1
            count = facts[row, COUNT]
        else:
            count = count_in_map(counted, counts, counted_used, key)
        hot = row >= 0 and facts[row, UNTIL] >= numbers[WINDOW]
        place: Index = np.int64(-1)
        if hot:
            lane = emptiest
            least = FULL
            cell = facts[row, FIRST]
            while cell >= 0:
                holder = np.int64(cells[cell, LANE])
                load = loads[holder]
                if load < least or (load == least and holder < lane):
                    least, lane, place = load, holder, cell
                cell = np.int64(cells[cell, NEXT])
            # Score of the best holder less that of the emptiest lane, both times 2 x total.
            lead = total - n * (least - loads[emptiest])
            if place < 0 or lead < 0 or (lead == 0 and emptiest < lane):
                lane, place = emptiest, np.int64(-1)
        if count > most_cold:
            if row < 0:
                row = numbers[ROWS]
                numbers[ROWS] += 1
                table_keys[at] = key
                table_slots[at] = row
                keys[row] = key
                facts[row, COUNT] = count
                facts[row, FIRST] = -1
            facts[row, UNTIL] = numbers[WINDOW] + 1
        if row >= 0:
            if not hot:
                place = facts[row, FIRST]
                while place >= 0 and cells[place, LANE] != lane:
                    place = np.int64(cells[place, NEXT])
            if place < 0:
                place = numbers[FREED]
                if place >= 0:
                    numbers[FREED] = cells[place, NEXT]
                else:
                    place = numbers[CELLS]
                    numbers[CELLS] += 1
                cells[place, LANE] = lane
                cells[place, NEXT] = facts[row, FIRST]
                facts[row, FIRST] = place
            cells[place, SLIDE] = slide
        loads[lane] += 1
        total += 1
        lanes[i] = lane
        done += 1
        if lane == emptiest:
            # Loads only grow here: below the emptiest lane there is none as empty as it was.
            level = loads[lane] - 1
            emptiest += 1
            while emptiest < n and loads[emptiest] != level:
                emptiest += 1
            if emptiest == n:
                emptiest = 0
                for other in range(1, n):
                    emptiest = other if loads[other] < loads[emptiest] else emptiest
        numbers[SEEN] += 1
        if numbers[SEEN] == stats_window:
            numbers[SEEN] = 0
            numbers[WINDOW] += 1
            _start_window(rows, n, numbers[WINDOW])
            counts[:] = -1
            counted_used[0] = 0
        if (
            2 * counted_used[0] >= counted.size
            or numbers[ROWS] == keys.size
            or (numbers[FREED] < 0 and numbers[CELLS] == cells.shape[0])
        ):
            break
    return done
