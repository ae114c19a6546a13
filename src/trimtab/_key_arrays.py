"""Questions to whole arrays of key hashes: where each stands among others, which host it has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def find_keys(
    keys: NDArray[np.uint64], wanted: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of each wanted key in `keys`, which rise, and whether it is there.

    The position of a key that is not there means nothing; it is a valid index unless `keys` is
    empty.

    >>> at, found = find_keys(np.array([3, 7], dtype=np.uint64), np.array([7, 5], dtype=np.uint64))
    >>> at.tolist(), found.tolist()
    ([1, 1], [True, False])
    """
    if keys.size == 0:
        return np.zeros(wanted.size, dtype=np.int64), np.zeros(wanted.size, dtype=np.bool_)
    # A key above all others would stand one past the end.
    positions = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return positions, keys[positions] == wanted


def host_of(hashes: NDArray[np.uint64], hosts: int) -> NDArray[np.int64]:
    """Return the host of each key, of so many hosts: its hash modulo their number.

    >>> host_of(np.array([5, 2**64 - 1], dtype=np.uint64), 4).tolist()
    [1, 3]
    """
    return (hashes % np.uint64(hosts)).astype(np.int64)
