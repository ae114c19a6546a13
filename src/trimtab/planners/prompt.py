"""Prompt's micro-batch partitioner: equal blocks, few keys split, keys spread evenly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._kernel import kernel
from trimtab._parameters import CAPACITIES, LANES
from trimtab.histogram import Histogram
from trimtab.plan import Plan, tail_by_host
from trimtab.planners.base import Planner

TAIL_HOSTS_PER_LANE = 100
"""Hosts per lane where lanes differ: the tail follows the capacities within one per cent."""


class PromptPlanner(Planner):
    """Balanced bin packing with fragmentable items, for a batch whose keys have been counted.

    Every lane's expected load is its even share, `total / lanes` times its capacity; to within one
    tuple where the weights are whole numbers. A key is split only when no lane has room for the
    whole of it. Lanes have about the same number of keys (see Notes).

    Parameters
    ----------
    lanes
        Number of blocks, 1 or more. More lanes split more keys.
    capacities
        Relative speed of each lane, positive; by default all lanes are equal. A lane with twice the
        capacity gets twice the weight and about twice the keys.

    Examples
    --------
    >>> counts = {1: 140, 2: 100, 3: 40, 4: 30, 5: 30, 6: 20, 7: 15, 8: 10}
    >>> p = PromptPlanner(lanes=4).plan(Histogram.from_counts(counts))
    >>> p.loads(Histogram.from_counts(counts)).tolist()
    [96.0, 96.0, 97.0, 96.0]
    >>> [key for key in counts if len(p.fragments(key)) > 1]
    [1, 2]

    References
    ----------
    Abdelhamid et al., "Prompt: Dynamic Data-Partitioning for Distributed Micro-batch Stream
    Processing Systems", SIGMOD 2020, Section 4.2, Algorithm 2.

    Notes
    -----
    The cut-off `P_size / P_|k|` is the mean weight of a key. With fewer keys than lanes that would
    be more than a block, and lanes would stay empty; a block's cardinality is taken to be at least
    one, so that no fragment is larger than a block.

    What the listing leaves open is decided like this. The zigzag goes on with the block at which
    the splitting stopped, so that no block gets two keys more than another. A fragment is never
    larger than the room of its block. A key that does not fit in its turn waits, whole, with the
    residuals. A residual that fits in no block fills the emptiest one and is split again. Where all
    weights are whole numbers blocks and fragments are whole numbers too.

    We depart from the listing in one place. Where a residual does not fit beside its fragment, the
    whole key changes places with a light key of another block, the tightest that can hold it; where
    there is none, it goes to a block that has room for all of it; only then it is split. To the
    letter, every key of a block that the hottest keys have filled would be split, and the pieces
    would crowd the block that is just large enough: on Zipf 1, 100,000 tuples of 10,000 keys and 16
    blocks, one key in twelve is split, and the fullest block has 343 keys more than the mean. With
    places changed it is one in six hundred, and 1.5 keys. Figure 10 shows numbers of keys as even.

    Keys that the histogram does not know one by one go to hosts: one per lane, or in proportion to
    the capacities. Their weight, measured by host if the histogram has it, takes up room before the
    known keys are packed. A previous plan is not looked at: blocks keep no state, and equal
    histograms give equal plans.

    The zigzag deals keys out evenly, and keys that change places keep it so, as long as there are
    light ones to change with. On 64 lanes and 1,000,000 tuples of 100,000 keys, means of five
    seeds, the fullest lane has 1.001, 1.003, 1.04 and 1.14 times the mean number of keys at Zipf
    0.5, 1, 1.5 and 2.
    """

    name = "prompt"
    paper = "Prompt, SIGMOD 2020, Algorithm 2"
    splits_keys = True
    takes = (LANES, CAPACITIES)
    counts_batch_first = True
    settles_within = 1.0  # blocks keep no state
    cost = "one pass over all known keys"
    state_in_words = "none"
    use_when = "a buffered batch whose keys may be split; no state between batches"
    complexity = 160

    def __init__(self, lanes: int, capacities: ArrayLike | None = None) -> None:
        super().__init__(lanes)
        self.capacities = self._check(CAPACITIES, capacities)

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        hosts = self._hosts()
        weights = histogram.weights
        size = histogram.total / self.lanes
        cardinality = max(1.0, histogram.distinct / self.lanes)
        cut = size / cardinality
        blocks = size * self.capacities
        if bool((weights == np.rint(weights)).all()) and histogram.total.is_integer():
            # Differences of rounded running sums: whole numbers that add up to the total.
            blocks = np.diff(np.rint(np.cumsum(blocks)), prepend=0.0)
            cut = float(np.ceil(cut))
        tail = np.bincount(hosts, weights=tail_by_host(histogram, hosts.size), minlength=self.lanes)
        starts = np.empty(weights.size + 1, dtype=np.int32)
        lane_of = np.empty(3 * weights.size + self.lanes, dtype=np.int32)
        shares = np.empty(lane_of.size)
        used = _pack(
            weights,
            cut,
            np.maximum(blocks - tail, 0.0),
            self.capacities / self.capacities.max(),
            # What rounding can leave over: too little to be worth a fragment.
            1e-9 * size,
            _Written(starts, lane_of, shares),
        )
        return Plan.from_arrays(
            self.lanes,
            histogram.hashes,
            starts,
            lane_of[:used],
            shares[:used],
            hosts,
            self.name,
        )

    def _hosts(self) -> NDArray[np.int32]:
        lanes = np.arange(self.lanes, dtype=np.int32)
        if bool((self.capacities == 1.0).all()):
            return lanes
        ends = np.rint(np.cumsum(self.capacities) * TAIL_HOSTS_PER_LANE)
        counts = np.diff(ends, prepend=0.0).astype(np.int64)
        return np.repeat(lanes, counts)


class _Written(NamedTuple):
    """Where fragments go: those of key i at `starts[i]:starts[i + 1]`."""

    starts: NDArray[np.int32]
    lane_of: NDArray[np.int32]
    shares: NDArray[np.float64]


class _Light(NamedTuple):
    """The light keys of each block, one after the other: the first, the last, and who follows."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    after: NDArray[np.int64]


@kernel
def _pack(
    weights: NDArray[np.float64],
    cut: float,
    rooms: NDArray[np.float64],
    turns: NDArray[np.float64],
    tiny: float,
    written: _Written,
) -> int:
    """Pack keys, heaviest first, into `rooms`; return the number of fragments written.

    `turns` is the number of keys that a block gets per pass, at most 1.
    """
    keys, blocks = weights.size, rooms.size
    home = np.full(keys, -1, dtype=np.int32)
    kept = np.zeros(keys)
    light = _Light(
        np.full(blocks, -1, dtype=np.int64),
        np.full(blocks, -1, dtype=np.int64),
        np.full(keys, -1, dtype=np.int64),
    )
    credit = np.zeros(blocks)
    block, step, cutting = 0, 1, True
    for i in range(keys):
        if cutting and weights[i] <= cut:
            cutting = False
        while True:
            here = block
            if step > 0 and block == blocks - 1:
                # While keys are cut the order of the blocks does not matter; then it is reversed.
                block, step = (0, 1) if cutting else (block, -1)
            elif step < 0 and block == 0:
                step = 1
            else:
                block += step
            credit[here] += turns[here]
            if credit[here] >= 1.0 - 1e-9:
                credit[here] -= 1.0
                break
        if cutting:
            size = min(cut, rooms[here])
        else:
            size = weights[i] if weights[i] <= rooms[here] + tiny else 0.0
        if size > 0.0 or weights[i] == 0.0:
            home[i] = here
            kept[i] = size
            rooms[here] = max(0.0, rooms[here] - size)
            if not cutting and size > 0.0:
                _append(light, here, i)
    return _place_residuals(weights, home, kept, rooms, tiny, light, written)


@kernel
def _append(light: _Light, block: int, key: int) -> None:
    """Put a key behind the light keys of a block."""
    first, last, after = light
    if first[block] < 0:
        first[block] = key
    else:
        after[last[block]] = key
    last[block] = key
    after[key] = -1


@kernel
def _best_swap(
    weights: NDArray[np.float64], rooms: NDArray[np.float64], light: _Light, need: float, home: int
) -> int:
    """Return the tightest block that can hold a key once it has given its first light key away."""
    first = light.first
    found, tightest = -1, np.inf
    for block in range(rooms.size):
        if block == home or first[block] < 0:
            continue
        room = rooms[block] + weights[first[block]]
        if room >= need and room < tightest:
            found, tightest = block, room
    return found


@kernel
def _place_residuals(
    weights: NDArray[np.float64],
    home: NDArray[np.int32],
    kept: NDArray[np.float64],
    rooms: NDArray[np.float64],
    tiny: float,
    light: _Light,
    written: _Written,
) -> int:
    """Put what is left of each key at home, else the whole key elsewhere, else in pieces."""
    starts, lane_of, shares = written
    first_light, after = light.first, light.after
    blocks = rooms.size
    by_room = np.argsort(rooms, kind="mergesort")
    place = np.empty(blocks, dtype=np.int64)
    for k in range(blocks):
        place[by_room[k]] = k
    out = 0
    for i in range(weights.size):
        starts[i] = out
        left = weights[i] - kept[i]
        if home[i] >= 0 and left <= rooms[home[i]] + tiny:
            if left > 0.0:
                _resize(rooms, by_room, place, home[i], -left)
            lane_of[out], shares[out] = home[i], 1.0
            out += 1
            continue
        if home[i] >= 0:
            lane = _best_swap(weights, rooms, light, weights[i] - tiny, home[i])
            if lane >= 0:
                back = first_light[lane]
                first_light[lane] = after[back]
                _append(light, home[i], back)
                home[back] = home[i]
                _resize(rooms, by_room, place, home[i], kept[i] - weights[back])
                _resize(rooms, by_room, place, lane, weights[back] - weights[i])
                lane_of[out], shares[out] = lane, 1.0
                out += 1
                continue
        whole = _first_with_room(rooms, by_room, weights[i] - tiny)
        if whole < blocks:
            lane = by_room[whole]
            if home[i] >= 0:
                _resize(rooms, by_room, place, home[i], kept[i])
            _resize(rooms, by_room, place, lane, -weights[i])
            lane_of[out], shares[out] = lane, 1.0
            out += 1
            continue
        if home[i] >= 0:
            kept[i] += rooms[home[i]]
            left -= rooms[home[i]]
            _resize(rooms, by_room, place, home[i], -rooms[home[i]])
            lane_of[out], shares[out] = home[i], kept[i] / weights[i]
            out += 1
        while left > 0.0:
            k = _first_with_room(rooms, by_room, left - tiny)
            lane = by_room[min(k, blocks - 1)]
            # No room at all can only be left by rounding: then the last block takes the rest.
            size = left if k < blocks or rooms[lane] <= tiny else rooms[lane]
            _resize(rooms, by_room, place, lane, -size)
            left -= size
            lane_of[out], shares[out] = lane, size / weights[i]
            out += 1
    starts[weights.size] = out
    return out


@kernel
def _first_with_room(rooms: NDArray[np.float64], by_room: NDArray[np.int64], need: float) -> int:
    """Return the position of the smallest room that is at least `need`, or `rooms.size`."""
    low, high = 0, rooms.size
    while low < high:
        middle = (low + high) // 2
        if rooms[by_room[middle]] >= need:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _resize(
    rooms: NDArray[np.float64],
    by_room: NDArray[np.int64],
    place: NDArray[np.int64],
    block: int,
    change: float,
) -> None:
    """Change a room and restore the order of rooms, equal ones by rising block."""
    room = max(0.0, rooms[block] + change)
    rooms[block] = room
    k = place[block]
    while k > 0:
        other = by_room[k - 1]
        if rooms[other] < room or (rooms[other] == room and other < block):
            break
        by_room[k] = other
        place[other] = k
        k -= 1
    while k < rooms.size - 1:
        other = by_room[k + 1]
        if rooms[other] > room or (rooms[other] == room and other > block):
            break
        by_room[k] = other
        place[other] = k
        k += 1
    by_room[k] = block
    place[block] = k
