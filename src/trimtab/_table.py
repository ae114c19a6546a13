"""An open-addressing table from key hashes to small numbers, for use inside kernels.

A table is a pair of arrays: `keys` (uint64) and `slots` (int32, -1 where free), of one length, a
power of two. Kernels call `locate` and stop when the table is half full; Python grows it and calls
the kernel again. So no kernel allocates, and a table never holds more than four times the room that
its keys need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import GOLDEN, inline, kernel

_SMALLEST = 256


class Table(NamedTuple):
    """What kernels see of a `KeyTable`; they take its arrays out before their loops."""

    keys: NDArray[np.uint64]
    slots: NDArray[np.int32]
    used: NDArray[np.int64]


@inline
def home(key: np.uint64, mask: np.uint64) -> np.uint64:
    """Return the position where the search for `key` begins; `mask` is the table's length less one.

    Both halves of the key decide: keys that differ in their upper bits only do not all meet in one
    place. The multiplication then spreads neighbours apart.
    """
    folded = (key ^ (key >> np.uint64(32))) * np.uint64(GOLDEN)
    return (folded >> np.uint64(32)) & mask


@inline
def locate(keys: NDArray[np.uint64], slots: NDArray[np.int32], key: np.uint64) -> np.int64:
    """Return the position of `key`, or the free position where it belongs (`slots` is -1 there)."""
    mask = np.uint64(keys.size - 1)
    at = home(key, mask)
    while slots[at] >= 0 and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@kernel
def number_keys(table: Table, keys: NDArray[np.uint64], count: int) -> None:
    """Let a table hold exactly the first `count` keys, each with its position as its slot."""
    table_keys, slots, used = table
    slots[:] = -1
    for slot in range(count):
        at = locate(table_keys, slots, keys[slot])
        table_keys[at] = keys[slot]
        slots[at] = slot
    used[0] = count


@kernel
def _insert_all(
    keys: NDArray[np.uint64],
    slots: NDArray[np.int32],
    new_keys: NDArray[np.uint64],
    new_slots: NDArray[np.int32],
) -> int:
    added = 0
    for i in range(new_keys.size):
        if new_slots[i] >= 0:
            at = locate(keys, slots, new_keys[i])
            if slots[at] < 0:
                added += 1
            keys[at] = new_keys[i]
            slots[at] = new_slots[i]
    return added


class KeyTable:
    """A table that kernels fill and Python grows.

    Attributes
    ----------
    keys, slots
        What kernels read and write through `locate`.
    used
        One-element array: how many keys are held; kernels raise it by one per new key, and stop
        before it passes `keys.size // 2`.
    """

    def __init__(self, expected: int = 0) -> None:
        self._allocate(expected)

    def _allocate(self, expected: int) -> None:
        size = _SMALLEST
        while size < 4 * expected:
            size *= 2
        self.keys: NDArray[np.uint64] = np.zeros(size, dtype=np.uint64)
        self.slots: NDArray[np.int32] = np.full(size, -1, dtype=np.int32)
        self.used: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    @property
    def arrays(self) -> Table:
        """The arrays that hold the keys now; growing makes new ones."""
        return Table(self.keys, self.slots, self.used)

    def __len__(self) -> int:
        return int(self.used[0])

    def grow(self) -> None:
        """Double the room, keeping what is held."""
        keys, slots = self.keys, self.slots
        self._allocate(keys.size // 2)
        self.used[0] = _insert_all(self.keys, self.slots, keys, slots)

    def clear(self) -> None:
        """Forget all keys; the room shrinks to what the last filling needed."""
        self._allocate(len(self))

    def entries(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Return the held keys in rising order, and their slots."""
        held = self.slots >= 0
        keys, slots = self.keys[held], self.slots[held]
        order = np.argsort(keys)
        return keys[order], slots[order]

    def fill(self, keys: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
        """Hold exactly these entries; a repeated key keeps its last slot."""
        self._allocate(keys.size)
        self.used[0] = _insert_all(self.keys, self.slots, keys, slots)
