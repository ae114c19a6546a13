"""Counting cold keys, to see which of them become hot: what dagreedy and dalton share.

Keys are counted in statistics windows of a fixed number of tuples, exactly or by count-min. A key
that is hot, or was so a short while ago, is counted where else it is known and never comes here: so
the sketch is not filled with the very keys that matter most.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import whole
from trimtab._kernel import inline, kernel, mix64, word_at
from trimtab._parameters import OrNone, Parameter, Whole
from trimtab._table import Table, locate

MANY_KEYS = 1 << 14
"""After a window with more distinct keys than this, "auto" counts the next one by the sketch."""

_FEW_FLAGS = math.floor(MANY_KEYS * (1 - math.exp(-0.5)))
"""Flags that MANY_KEYS / 2 distinct keys are expected to raise; with fewer, "auto" goes back to
counting exactly."""

_DEPTH = 4
_ERROR_PART = 0.1

EXACT, SKETCH = 0, 1

_SHORTEST_WINDOW = 10_000
_LONGEST_WINDOW = 1 << 30


def stats_window_parameter(sightings: int) -> Parameter[int | None]:
    """Declare the length of a statistics window that by default shows a hot key that often."""
    return Parameter(
        "stats_window",
        None,
        OrNone(
            Whole(1, _LONGEST_WINDOW),
            f"{sightings} x lanes / heat, at least {_SHORTEST_WINDOW:,}",
        ),
        "tuples per statistics window, at least heat x lanes; more are surer and follow later",
    )


def stats_window_length(given: int | None, lanes: int, heat: float, sightings: int) -> int:
    """Return the tuples of a statistics window; None takes what `stats_window_parameter` says."""
    if given is None:
        given = max(_SHORTEST_WINDOW, math.ceil(sightings * lanes / heat))
    return whole("stats_window", given, math.ceil(heat * lanes), _LONGEST_WINDOW)


class ColdKeys(NamedTuple):
    """The counts of cold keys, as kernels see them.

    `mode` says how keys are counted in this window: EXACT, in the slots of `table`, or SKETCH, in
    `cells`, the rows of a count-min. A sketch does not know how many keys it has seen; `flags`, of
    which every key raises one, tell that roughly.
    """

    table: Table
    cells: NDArray[np.int32]
    flags: NDArray[np.uint8]
    mode: NDArray[np.int64]


def sketch_cells(lanes: int, heat: float | None) -> NDArray[np.int32]:
    """Return an empty count-min, depth x width, sized by its error bound; None means none at all.

    A row of width `e / error` overestimates a key by more than `error x load` with a probability
    of 1/e at most. The error is set to a tenth of the hot share `heat / lanes`. So a rare key
    passes for hot only if all four rows overestimate it by ten times the error. By Markov's
    inequality the probability of that is at most `(0.1 / e)^4 < 2e-6`.
    """
    width = 1
    if heat is None:
        return np.zeros((0, width), dtype=np.int32)
    while width < math.e * lanes / (heat * _ERROR_PART):
        width *= 2
    return np.zeros((_DEPTH, width), dtype=np.int32)


@inline
def count_in_map(
    keys: NDArray[np.uint64], counts: NDArray[np.int32], used: NDArray[np.int64], key: np.uint64
) -> np.int64:
    """Count one more tuple of a key in the map; return how often it was seen."""
    at = locate(keys, counts, key)
    used[0] += np.int64(counts[at] < 0)
    keys[at] = key
    counts[at] = max(counts[at], 0) + 1
    return np.int64(counts[at])


@inline
def count_in_sketch(
    cells: NDArray[np.int32], flags: NDArray[np.uint8], key: np.uint64, salt: np.uint64
) -> np.int64:
    """Count one more tuple of a key in the sketch; return an upper bound of its sightings."""
    word = mix64(key ^ salt)
    flags[word & np.uint64(MANY_KEYS - 1)] = 1
    mask = np.uint64(cells.shape[1] - 1)
    least = np.int32(2**31 - 1)
    for row in range(0, _DEPTH, 2):
        # The two halves of a word are two hash functions; the next word is mixed from this one.
        for half in range(2):
            at = np.int64((word >> np.uint64(32 * half)) & mask)
            cells[row + half, at] += 1
            least = min(least, cells[row + half, at])
        word = word_at(word, np.uint64(1))
    return np.int64(least)


@kernel
def forget_counts(cold: ColdKeys, choose: bool) -> None:
    """End a window; `choose` picks map or sketch for the next, by the distinct keys of this one."""
    if cold.mode[0] == EXACT:
        distinct = cold.table.used[0]
        cold.table.slots[:] = -1
        cold.table.used[0] = 0
        if choose and distinct > MANY_KEYS:
            cold.mode[0] = SKETCH
    else:
        raised = np.int64(0)
        for i in range(cold.flags.size):
            raised += cold.flags[i]
        cold.cells[:] = 0
        cold.flags[:] = 0
        if choose and raised <= _FEW_FLAGS:
            cold.mode[0] = EXACT
