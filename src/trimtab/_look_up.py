"""The look-up table behind `Plan.route`: one probe for most keys, one more for split ones.

Most keys are whole: the table itself holds their lane. A split key has a guide. It cuts the range
of row hashes into equal parts and names, for each part, the fragment in which the part begins. With
four parts or more per fragment the guide mostly names the right fragment at once, however many
there are. A binary search would be slower: row hashes are random, so the processor would guess
wrong at every other step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel, word_at
from trimtab._table import home

FREE = -1
_PARTS_PER_FRAGMENT = 4
_POINT_BITS = 32


class LookUp(NamedTuple):
    """A table of keys, by open addressing, and the guides of split keys.

    `codes` says what a place of the table holds: a lane (0 or more), nothing (-1), or split key i
    (-2 - i). The guide of split key i begins at `guides[firsts[i]]`; it holds fragments, as
    positions in `cuts` and `lane_of`. The upper half of a row hash, shifted right by `shifts[i]`,
    is the number of its part.
    """

    keys: NDArray[np.uint64]
    codes: NDArray[np.int32]
    firsts: NDArray[np.int64]
    shifts: NDArray[np.uint64]
    guides: NDArray[np.int32]


def look_up(
    keys: NDArray[np.uint64],
    starts: NDArray[np.int32],
    lane_of: NDArray[np.int32],
    cuts: NDArray[np.uint64],
) -> LookUp:
    """Make the table of a plan from its arrays."""
    size = 256
    # At most two entries in five are taken: few probes, yet no more memory than needed.
    while 2 * size < 5 * keys.size:
        size *= 2
    pieces = np.diff(starts)
    split = np.flatnonzero(pieces > 1)
    bits = np.ceil(np.log2(pieces[split] * _PARTS_PER_FRAGMENT)).astype(np.int64)
    ends = np.cumsum(np.left_shift(np.int64(1), bits))
    codes = lane_of[starts[:-1]]
    codes[split] = -2 - np.arange(split.size)
    made = LookUp(
        np.zeros(size, dtype=np.uint64),
        np.full(size, FREE, dtype=np.int32),
        np.concatenate(([0], ends)),
        (_POINT_BITS - bits).astype(np.uint64),
        np.empty(int(ends[-1]) if split.size else 0, dtype=np.int32),
    )
    _fill(keys, codes, made.keys, made.codes)
    _fill_guides(starts[split].astype(np.int64), cuts, made.firsts, made.shifts, made.guides)
    return made


@kernel
def _fill(
    keys: NDArray[np.uint64],
    codes: NDArray[np.int32],
    table_keys: NDArray[np.uint64],
    table_codes: NDArray[np.int32],
) -> None:
    mask = np.uint64(table_keys.size - 1)
    for i in range(keys.size):
        at = home(keys[i], mask)
        while table_codes[at] != FREE:
            at = (at + np.uint64(1)) & mask
        table_keys[at] = keys[i]
        table_codes[at] = codes[i]


@kernel
def _fill_guides(
    starts: NDArray[np.int64],
    cuts: NDArray[np.uint64],
    firsts: NDArray[np.int64],
    shifts: NDArray[np.uint64],
    guides: NDArray[np.int32],
) -> None:
    for i in range(starts.size):
        fragment = starts[i]
        for part in range(firsts[i + 1] - firsts[i]):
            while cuts[fragment] <= np.uint64(part) << shifts[i]:
                fragment += 1
            guides[firsts[i] + part] = fragment


@kernel
def route(
    hashes: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    out: NDArray[np.int32],
    table: LookUp,
    lane_of: NDArray[np.int32],
    cuts: NDArray[np.uint64],
    hosts: NDArray[np.int32],
) -> None:
    """Write the lane of each tuple; without row hashes its position stands in for the row."""
    keys, codes = table.keys, table.codes
    mask = np.uint64(keys.size - 1)
    host_count = np.uint64(hosts.size)
    for i in range(hashes.size):
        at = home(hashes[i], mask)
        code = codes[at]
        while code != FREE and keys[at] != hashes[i]:
            at = (at + np.uint64(1)) & mask
            code = codes[at]
        if code >= 0:
            out[i] = code
        elif code == FREE:
            out[i] = hosts[hashes[i] % host_count]
        else:
            row = rows[i] if rows.size else word_at(np.uint64(0), np.uint64(i))
            point = row >> np.uint64(32)
            part = np.int64(point >> table.shifts[-2 - code])
            fragment = table.guides[table.firsts[-2 - code] + part]
            # The last cut is above every point.
            while point >= cuts[fragment]:
                fragment += 1
            out[i] = lane_of[fragment]
