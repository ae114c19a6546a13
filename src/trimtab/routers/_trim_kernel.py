"""The kernel of the trim router and the table it keeps of the window's keys.

An entry is two words side by side, so that one cache line answers for a key: the key hash, and
`count << 32 | place`. A place below `lanes` is the lane of a whole key; a place of `lanes + i` is
hot key i, whose lanes are a linked list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import inline, kernel
from trimtab._leveling import LIGHT, LaneLists
from trimtab._table import home

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Second word of a free entry; no place and count can make it, since a place is below 2^31."""

# Positions in the router's array of numbers.
ROUTED = 0  # tuples routed in this window
EXPECTED = 1  # tuples expected in this window
USED = 2  # entries in the table
HOT = 3  # hot keys
PIECES = 4  # list cells of hot keys' lanes
TOUCHED = 5  # keeps the compiler from leaving the read-ahead out
STEADY = 6  # 1 if the last window was as long as expected, else 0
NUMBERS = 7

BLOCK = 64
"""Tuples whose table entries are read ahead."""

MARGIN = 16
"""A key needs a further lane when its count exceeds what its lanes can hold by this many tuples; a
smaller excess may be chance."""

PATIENCE = 0.25
"""A lane may be ahead of the mean by this part of a lane's share of what is still to come: later
tuples can make up for that, and many keys that come in a rush are light in the window as a whole.
At the window's end nothing of it is left."""

TRUST, DOUBT = 1.0, 0.1
"""Patience allows no more than this part of what has come: the window may end early. There is trust
where the last window was as long as expected."""

STEADY_LENGTH = 0.9
"""A window of this part of the expected length was as long as expected, or longer."""

SPILL = 0.5
"""A lane may pass part of a heavy key on although the key alone would fit its lanes, since other
keys share them. `excess x (part of a lane that the key fills)` must be above this many slacks: of
several keys on a lane the heaviest goes first, which takes the fewest replicas."""

RESCUE = 0.05
"""A lane that is ahead by this part of its share, and what patience allows, passes any key on that
is not light."""

MIN_BURST = 4
"""A hot key stays on the lane it is filling until that lane is ahead of the mean by the slack, and
by this many tuples at least: so one look at all of its lanes serves several tuples."""


class HotKeys(NamedTuple):
    """The lanes of hot keys, as linked lists of cells.

    `lanes` and `next` belong to a cell: its lane, and the next cell of its key or -1. The others
    belong to a hot key: `head` is its first cell, `cursor` the cell of the lane that it is filling,
    and `check` the tuple of the window before which it does not look for another.
    """

    lanes: NDArray[np.int32]
    next: NDArray[np.int32]
    head: NDArray[np.int32]
    cursor: NDArray[np.int32]
    check: NDArray[np.int64]


class Settings(NamedTuple):
    """The router's parameters, as the kernel needs them."""

    window: int
    slack: float
    split: bool


def empty_table(keys: int) -> NDArray[np.uint64]:
    """Return a table with room for `keys` keys at half load."""
    size = 1024
    while size < 2 * keys + 2:
        size *= 2
    table = np.zeros((size, 2), dtype=np.uint64)
    table[:, 1] = FREE
    return table


@inline
def _find(table: NDArray[np.uint64], key: np.uint64) -> np.int64:
    mask = np.uint64(table.shape[0] - 1)
    at = home(key, mask)
    while table[at, 1] != FREE and table[at, 0] != key:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@inline
def _emptiest(loads: NDArray[np.int64]) -> np.int64:
    best = np.int64(0)
    lowest = loads[0]
    for lane in range(1, loads.size):
        if loads[lane] < lowest:
            best, lowest = np.int64(lane), loads[lane]
    return best


@kernel
def insert_all(
    table: NDArray[np.uint64], keys: NDArray[np.uint64], words: NDArray[np.uint64]
) -> None:
    """Put entries into a table that has room for them."""
    for i in range(keys.size):
        at = _find(table, keys[i])
        table[at, 0] = keys[i]
        table[at, 1] = words[i]


@inline
def _new_hot(
    lane: np.int64 | np.int32,
    hot_keys: HotKeys,
    numbers: NDArray[np.int64],
) -> np.int64:
    """Make a hot key that is on one lane; return its number."""
    hot = np.int64(numbers[HOT])
    cell = numbers[PIECES]
    hot_keys.lanes[cell] = lane
    hot_keys.next[cell] = -1
    hot_keys.head[hot] = cell
    hot_keys.cursor[hot] = cell
    hot_keys.check[hot] = 0
    numbers[HOT] = hot + 1
    numbers[PIECES] = cell + 1
    return hot


class Limits(NamedTuple):
    """How far ahead of the mean a lane may be, all times the number of lanes.

    `slack` is always allowed, `rest` is what lies between that and a rescue, `wait` is how many
    tuples a key waits before it looks at its lanes again. Patience follows from `expected`, the
    tuples expected in the window, and from `trust` in that.
    """

    slack: np.int64
    rest: np.int64
    wait: np.int64
    expected: np.int64
    trust: float


@inline
def _worth_a_lane(
    count: np.int64,
    pieces: np.int64,
    load: np.int64,
    routed: np.int64,
    lanes: np.int64,
    limits: Limits,
) -> bool:
    """Tell whether a key of so many lanes, the emptiest of them with that load, gets another."""
    slack, rest, _, expected, trust = limits
    patience = np.int64(max(0.0, min(trust * routed, PATIENCE * (expected - routed))))
    excess = load * lanes - routed - slack - patience
    if excess <= 0:
        return False
    filled = count * lanes
    if filled > (routed + MARGIN * lanes) * pieces or excess > rest:
        return True
    # In floating point: the product of two such numbers may be too large for an integer.
    return bool(np.float64(excess) * filled > SPILL * slack * np.float64(routed * pieces))


@inline
def _next_lane(
    hot: np.int64,
    count: np.int64,
    routed: np.int64,
    limits: Limits,
    loads: NDArray[np.int64],
    hot_keys: HotKeys,
    numbers: NDArray[np.int64],
) -> np.int64:
    """Return the emptiest of a hot key's lanes; or a new one, if that is worth it.

    If even the emptiest is ahead of the mean, looking again at once would find little better: the
    key stays there until `wait` more tuples have been routed.
    """
    hot_lanes, hot_next, hot_head, hot_cursor, hot_check = hot_keys
    lanes = np.int64(loads.size)
    head = hot_head[hot]
    best = np.int64(head)
    pieces = np.int64(0)
    cell = np.int64(head)
    while cell >= 0:
        pieces += 1
        if loads[hot_lanes[cell]] < loads[hot_lanes[best]]:
            best = cell
        cell = np.int64(hot_next[cell])
    lane = np.int64(hot_lanes[best])
    another = _worth_a_lane(count, pieces, loads[lane], routed, lanes, limits)
    if another and numbers[PIECES] < hot_lanes.size:
        # It is not yet among the key's lanes: all of those are ahead of the mean.
        lane = _emptiest(loads)
        best = numbers[PIECES]
        hot_lanes[best] = lane
        hot_next[best] = head
        hot_head[hot] = best
        numbers[PIECES] = best + 1
    elif loads[lane] * lanes > routed:
        hot_check[hot] = routed + limits.wait
    hot_cursor[hot] = best
    return lane


@kernel
def route(
    stream: tuple[NDArray[np.uint64], NDArray[np.int32], int],
    loads: NDArray[np.int64],
    table: NDArray[np.uint64],
    hosts: NDArray[np.int32],
    hot_keys: HotKeys,
    numbers: NDArray[np.int64],
    settings: Settings,
) -> int:
    """Route from a position on; stop at the end of hashes or window, or when the table is full."""
    hashes, lanes_out, start = stream
    hot_lanes, _, hot_head, hot_cursor, hot_check = hot_keys
    window, slack, split = settings
    lanes = np.int64(loads.size)
    host_count = np.uint64(hosts.size)
    mask = np.uint64(table.shape[0] - 1)
    routed = numbers[ROUTED]
    used = numbers[USED]
    room = table.shape[0] // 2
    ahead = np.int64(slack * numbers[EXPECTED])
    burst = max(np.int64(MIN_BURST) * lanes, ahead)
    expected = numbers[EXPECTED]
    rest = max(np.int64(0), np.int64(RESCUE * expected) - ahead)
    cells = hot_lanes.size
    trust = TRUST if numbers[STEADY] else DOUBT
    limits = Limits(ahead, rest, burst // lanes, expected, trust)
    heavy = np.int64(LIGHT * numbers[EXPECTED] / lanes) + MARGIN
    end = min(hashes.size, start + window - routed)
    i = start
    while i < end and used < room:
        # Reading a block's entries ahead, each load independent of the others, lets the processor
        # wait for many cache misses at once instead of one after the other.
        block = min(end, i + min(BLOCK, room - used))
        touched = np.uint64(0)
        for j in range(i, block):
            touched ^= table[home(hashes[j], mask), 1]
        if touched == np.uint64(1):
            numbers[TOUCHED] += 1
        for j in range(i, block):
            key = hashes[j]
            at = _find(table, key)
            word = table[at, 1]
            if word == FREE:
                lane = np.int64(hosts[key % host_count])
                if loads[lane] * lanes > routed + ahead:
                    lane = _emptiest(loads)
                table[at, 0] = key
                table[at, 1] = (np.uint64(1) << np.uint64(32)) | np.uint64(lane)
                used += 1
            else:
                count = np.int64(word >> np.uint64(32)) + 1
                place = np.int64(word & np.uint64(0xFFFFFFFF))
                lane = place
                if place >= lanes:
                    lane = np.int64(hot_lanes[hot_cursor[place - lanes]])
                if split and count > heavy and loads[lane] * lanes > routed + burst:
                    # The key is heavy, and the lane it is filling is ahead of the mean.
                    # A key that becomes hot takes a cell for its lane and one for the next.
                    has_room = numbers[HOT] < hot_head.size and numbers[PIECES] + 2 <= cells
                    one = np.int64(1)
                    if (
                        place < lanes
                        and has_room
                        and _worth_a_lane(count, one, loads[lane], routed, lanes, limits)
                    ):
                        place = lanes + _new_hot(place, hot_keys, numbers)
                    if place >= lanes and routed >= hot_check[place - lanes]:
                        lane = _next_lane(
                            place - lanes, count, routed, limits, loads, hot_keys, numbers
                        )
                table[at, 1] = (np.uint64(count) << np.uint64(32)) | np.uint64(place)
            lanes_out[j] = lane
            loads[lane] += 1
            routed += 1
        i = block
    numbers[ROUTED] = routed
    numbers[USED] = used
    return i


@kernel
def summarise(
    table: NDArray[np.uint64],
    floor: float,
    host_weights: NDArray[np.float64],
    heavy_keys: NDArray[np.uint64],
    heavy_counts: NDArray[np.float64],
    heavy_places: NDArray[np.int64],
) -> int:
    """Add up light keys by host, list heavy ones, free all entries; return how many are heavy."""
    host_count = np.uint64(host_weights.size)
    found = 0
    for at in range(table.shape[0]):
        word = table[at, 1]
        if word == FREE:
            continue
        table[at, 1] = FREE
        count = np.float64(word >> np.uint64(32))
        if count >= floor and found < heavy_keys.size:
            heavy_keys[found] = table[at, 0]
            heavy_counts[found] = count
            heavy_places[found] = np.int64(word & np.uint64(0xFFFFFFFF))
            found += 1
        else:
            host_weights[table[at, 0] % host_count] += count
    return found


@kernel
def old_lanes(places: NDArray[np.int64], lanes: int, hot_keys: HotKeys) -> LaneLists:
    """Return the lanes of each key."""
    hot_lanes, hot_next, hot_head = hot_keys.lanes, hot_keys.next, hot_keys.head
    starts = np.zeros(places.size + 1, dtype=np.int32)
    for i in range(places.size):
        count = 1
        if places[i] >= lanes:
            cell = hot_next[hot_head[places[i] - lanes]]
            while cell >= 0:
                count += 1
                cell = hot_next[cell]
        starts[i + 1] = starts[i] + count
    flat = np.empty(starts[-1], dtype=np.int32)
    for i in range(places.size):
        at = starts[i]
        if places[i] < lanes:
            flat[at] = places[i]
        else:
            cell = hot_head[places[i] - lanes]
            while cell >= 0:
                flat[at] = hot_lanes[cell]
                at += 1
                cell = hot_next[cell]
    return LaneLists(starts, flat)


@kernel
def preload(
    table: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    needed: NDArray[np.int32],
    lane_of: NDArray[np.int32],
    lanes: int,
    hot_keys: HotKeys,
    numbers: NDArray[np.int64],
) -> None:
    """Enter the heavy keys with no tuples yet, each on the lanes chosen for it."""
    hot_lanes, hot_next, hot_head = hot_keys.lanes, hot_keys.next, hot_keys.head
    first = 0
    for i in range(keys.size):
        place = np.int64(lane_of[first])
        if needed[i] > 1:
            hot = _new_hot(lane_of[first], hot_keys, numbers)
            for j in range(first + 1, first + needed[i]):
                cell = numbers[PIECES]
                hot_lanes[cell] = lane_of[j]
                hot_next[cell] = hot_head[hot]
                hot_head[hot] = cell
                numbers[PIECES] = cell + 1
            place = lanes + hot
        first += needed[i]
        at = _find(table, keys[i])
        table[at, 0] = keys[i]
        table[at, 1] = np.uint64(place)
