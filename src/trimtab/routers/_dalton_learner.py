"""Dalton's Q-table: one row per hot key, one value per lane, and the lanes that hold the key.

A row stays when its key is no longer hot, as long as the sliding window shows the key on a lane
that is not its hash lane: if the key becomes hot again, the lanes that hold it are still known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import Index, inline, kernel
from trimtab._table import Table, locate, number_keys
from trimtab.routers._sliding_window import NEVER

WORST = -2.0
"""The initial value: below every reward, so that a lane nobody has tried is never the best."""


# Columns of `Rows.facts`.
COUNT = 0  # sightings in the current statistics window
UNTIL = 1  # last statistics window in which the key is hot
BEST = 2  # lane of the largest value
FAN = 3  # lanes that hold the key in the sliding window
FACTS = 4


class Rows(NamedTuple):
    """The Q-table and what belongs to its rows, as kernels see it.

    `runner_up` is an upper bound of all values of a row but the best: the row is searched again
    only when its best value falls to that. `stamps` has the last slide in which each lane took the
    key.
    `credit` and `decay` gather rewards while a synchronisation is under way. `table` finds the row
    of a key, and counts the rows in use.
    """

    keys: NDArray[np.uint64]
    facts: NDArray[np.int64]
    runner_up: NDArray[np.float64]
    values: NDArray[np.float64]
    stamps: NDArray[np.int32]
    credit: NDArray[np.float64]
    decay: NDArray[np.float64]
    table: Table


@inline
def reward(load: float, total: float, fan: Index, n: Index, balance: float) -> float:
    """Return the reward of Equations 3 and 4, for loads after the tuple was placed.

    Numerator and denominator of Equation 3 are multiplied by the number of lanes: no mean, one
    division.
    """
    scaled = load * n
    imbalance = (scaled - total) / max(scaled, total)
    return -(balance * imbalance + (1.0 - balance) * (fan / n))


@inline
def look_through(
    facts: NDArray[np.int64],
    runner_up: NDArray[np.float64],
    values: NDArray[np.float64],
    row: Index,
    home: Index,
) -> None:
    """Find the best lane of a row anew; a tie goes to the hash lane, then to the lowest."""
    best = home
    highest = values[row, home]
    second = -np.inf
    for start, stop in ((0, home), (home + 1, values.shape[1])):
        for lane in range(start, stop):
            value = values[row, lane]
            second = max(second, min(value, highest))
            best = lane if value > highest else best
            highest = max(highest, value)
    facts[row, BEST] = best
    runner_up[row] = second


@inline
def hold(
    facts: NDArray[np.int64],
    stamps: NDArray[np.int32],
    row: Index,
    lane: Index,
    slide: Index,
    oldest: Index,
) -> None:
    """Note that a lane took the key in this slide."""
    facts[row, FAN] += np.int64(stamps[row, lane] <= oldest)
    stamps[row, lane] = slide


@inline
def forget_values(rows: Rows, row: Index, home: Index) -> None:
    """Make a row as new: no lane was tried, all tie, the hash lane is best."""
    for lane in range(rows.values.shape[1]):
        rows.values[row, lane] = WORST
    rows.facts[row, BEST] = home
    rows.runner_up[row] = WORST
    if rows.decay.size:
        for lane in range(rows.values.shape[1]):
            rows.credit[row, lane] = 0.0
            rows.decay[row, lane] = 1.0


@inline
def add_row(rows: Rows, at: Index, key: np.uint64) -> np.int64:
    """Make a row for a key that belongs at position `at` of the table; there must be room."""
    row = np.int64(rows.table.used[0])
    rows.table.used[0] += 1
    rows.table.keys[at] = key
    rows.table.slots[at] = row
    rows.keys[row] = key
    for fact in range(FACTS):
        rows.facts[row, fact] = 0
    for lane in range(rows.stamps.shape[1]):
        rows.stamps[row, lane] = NEVER
    return row


@kernel
def recount_fans(rows: Rows, oldest: Index) -> None:
    """Count anew the lanes that hold each key, after a slide has left the window."""
    stamps = rows.stamps
    for row in range(rows.table.used[0]):
        fan = 0
        for lane in range(stamps.shape[1]):
            if stamps[row, lane] > oldest:
                fan += 1
        rows.facts[row, FAN] = fan


@inline
def _only_at_home(rows: Rows, row: Index, oldest: Index) -> bool:
    home = np.int64(rows.keys[row] % np.uint64(rows.stamps.shape[1]))
    fan = rows.facts[row, FAN]
    return bool(fan == 0 or (fan == 1 and rows.stamps[row, home] > oldest))


@inline
def _move_row(rows: Rows, source: Index, target: Index) -> None:
    rows.keys[target] = rows.keys[source]
    rows.runner_up[target] = rows.runner_up[source]
    for fact in range(FACTS):
        rows.facts[target, fact] = rows.facts[source, fact]
    for lane in range(rows.values.shape[1]):
        rows.values[target, lane] = rows.values[source, lane]
        rows.stamps[target, lane] = rows.stamps[source, lane]
        if rows.decay.size:
            rows.credit[target, lane] = rows.credit[source, lane]
            rows.decay[target, lane] = rows.decay[source, lane]


@kernel
def start_window(rows: Rows, window: int, oldest: Index) -> int:
    """Count afresh, drop the rows that nothing needs any more, and return how many are hot."""
    kept = 0
    hot = 0
    for row in range(rows.table.used[0]):
        rows.facts[row, COUNT] = 0
        if rows.facts[row, UNTIL] >= window:
            hot += 1
        elif _only_at_home(rows, row, oldest):
            continue
        if kept < row:
            _move_row(rows, row, kept)
        kept += 1
    if kept < rows.table.used[0]:
        number_keys(rows.table, rows.keys, kept)
    return hot


@kernel
def adopt(
    rows: Rows,
    done: int,
    keys: NDArray[np.uint64],
    values: NDArray[np.float64],
    until: NDArray[np.int64],
    slide: Index,
    oldest: Index,
) -> int:
    """Take over the rows of a global table from number `done` on; return how many are done.

    A key that was cold here has been hashed, here or elsewhere, so its hash lane counts as held.
    """
    n = np.uint64(rows.values.shape[1])
    for i in range(done, keys.size):
        if rows.table.used[0] == rows.keys.size:
            return i
        at = locate(rows.table.keys, rows.table.slots, keys[i])
        row = np.int64(rows.table.slots[at])
        if row < 0:
            home = np.int64(keys[i] % n)
            row = add_row(rows, at, keys[i])
            forget_values(rows, row, home)
            hold(rows.facts, rows.stamps, row, home, slide, oldest)
        rows.values[row, :] = values[i, :]
        rows.facts[row, UNTIL] = until[i]
    return keys.size


@kernel
def heat_up(
    rows: Rows,
    done: int,
    keys: NDArray[np.uint64],
    window: int,
    at_home: bool,
    slide: Index,
    oldest: Index,
) -> int:
    """Make keys hot from number `done` on, before a tuple of theirs comes; return how many are.

    With `at_home`, a key that has no row may have been hashed earlier in the sliding window, so
    that its hash lane counts as held.
    """
    n = np.uint64(rows.values.shape[1])
    for i in range(done, keys.size):
        if rows.table.used[0] == rows.keys.size:
            return i
        at = locate(rows.table.keys, rows.table.slots, keys[i])
        row = np.int64(rows.table.slots[at])
        home = np.int64(keys[i] % n)
        if row < 0:
            row = add_row(rows, at, keys[i])
            if at_home:
                hold(rows.facts, rows.stamps, row, home, slide, oldest)
            rows.facts[row, UNTIL] = window - 1
        if rows.facts[row, UNTIL] < window:
            forget_values(rows, row, home)
        rows.facts[row, UNTIL] = window + 1
    return keys.size


@kernel
def settle(rows: Rows) -> None:
    """Pay out the gathered rewards: as if each had been learned, in order, one by one."""
    n = np.uint64(rows.values.shape[1])
    for row in range(rows.table.used[0]):
        for lane in range(rows.values.shape[1]):
            value = rows.decay[row, lane] * rows.values[row, lane] + rows.credit[row, lane]
            rows.values[row, lane] = value
        rows.credit[row, :] = 0.0
        rows.decay[row, :] = 1.0
        home = np.int64(rows.keys[row] % n)
        look_through(rows.facts, rows.runner_up, rows.values, row, home)
