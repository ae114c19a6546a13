"""Power of random choices: a key's endless row of choices, and the first with room.

What porc and cg share. Bins are lanes for the one and virtual workers for the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel, mix64, reduce_range, word_at
from trimtab.routers._capacity import capacity_after

_SMALLEST_MEMO, _LARGEST_MEMO = 1 << 8, 1 << 14


def memo(bins: int) -> NDArray[np.uint64]:
    """Make what `assign` remembers keys in: rows of key, capacity, choices known to be full.

    A capacity holds for about `bins` tuples; with a few times as many rows hot keys rarely
    overwrite each other. Forgetting costs time, never another decision.
    """
    rows = _SMALLEST_MEMO
    while rows < min(4 * bins, _LARGEST_MEMO):
        rows *= 2
    return np.zeros((rows, 3), dtype=np.uint64)


@kernel
def assign(
    hashes: NDArray[np.uint64],
    chosen: NDArray[np.int32],
    loads: NDArray[np.int64],
    epsilon: float,
    salt: np.uint64,
    memo: NDArray[np.uint64],
) -> None:
    """Write the bin of each tuple into `chosen` and count it in `loads`.

    There is always a bin with room: before a tuple is placed, the loads add up to less than
    `bins x capacity`. Tuples never leave, so a full bin stays full until the capacity rises, and
    then has room again. Until then, the search for a key's bin goes on where the last one for that
    key ended. Between two rises of the capacity all searches together take `O(bins log bins)`
    steps, even if all tuples have one key.
    """
    total = loads.sum()
    bins = np.uint64(loads.size)
    last = np.uint64(memo.shape[0] - 1)
    capacity = capacity_after(np.int64(0), total + 1, epsilon, loads.size)
    for i in range(hashes.size):
        total += 1
        capacity = capacity_after(capacity, total, epsilon, loads.size)
        key = hashes[i]
        word = mix64(key ^ salt)
        bin_ = np.uint64(reduce_range(word, bins))
        if loads[bin_] >= capacity:
            row = word & last
            full = np.uint64(0)
            if memo[row, 0] == key and memo[row, 1] == np.uint64(capacity):
                full = memo[row, 2]
            while True:
                step = full + np.uint64(1)
                other = word_at(word, step)
                bin_ = np.uint64(reduce_range(other, bins))
                if loads[bin_] < capacity:
                    break
                full = step
            memo[row, 0] = key
            memo[row, 1] = np.uint64(capacity)
            memo[row, 2] = full
        chosen[i] = bin_
        loads[bin_] += 1
