"""A perfect hash over a plan's heavy keys, of a form that is a short Spark expression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import InvalidArgument


@dataclass(frozen=True)
class PerfectHash:
    """One slot per key: `slot = (key >>> shift ^ displacement[key & (buckets - 1)]) & (slots - 1)`.

    No two of the keys share a slot. A key that is not among them falls on any slot, so that the
    reader compares the key that stands there.

    Examples
    --------
    >>> keys = np.array([5, 1 << 40, 1 << 63], dtype=np.uint64)
    >>> table = PerfectHash.of(keys)
    >>> len(set(table.slot_of(keys).tolist()))
    3

    Notes
    -----
    Hash and displace: buckets are filled from the largest on, each with the first displacement that
    sends all its keys to free slots. Four slots and two buckets per key leave so much room that
    few displacements are tried. Two keys of one bucket with equal upper bits can not be told
    apart by a displacement; another shift tells them apart.
    """

    shift: int
    slots: int
    displacement: NDArray[np.int64]

    @classmethod
    def of(cls, keys: NDArray[np.uint64]) -> PerfectHash:
        """Find a perfect hash for distinct `keys`."""
        slots = 1 << max(2, int(4 * keys.size - 1).bit_length())
        while slots <= 1 << 26:
            for shift in (32, 24, 40, 16, 44, 8, 0):
                displacement = _displace(keys, shift, slots)
                if displacement is not None:
                    return cls(shift, slots, displacement)
            slots *= 2
        raise InvalidArgument(f"no perfect hash for {keys.size} keys; are all of them different?")

    def slot_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the slot of each key."""
        bucket = (keys & np.uint64(self.displacement.size - 1)).astype(np.int64)
        upper = ((keys >> np.uint64(self.shift)) & np.uint64(self.slots - 1)).astype(np.int64)
        return np.asarray(upper ^ self.displacement[bucket])


def _displace(keys: NDArray[np.uint64], shift: int, slots: int) -> NDArray[np.int64] | None:
    buckets = slots // 2
    bucket = (keys & np.uint64(buckets - 1)).astype(np.int64)
    upper = ((keys >> np.uint64(shift)) & np.uint64(slots - 1)).astype(np.int64)
    if np.unique(bucket * slots + upper).size != keys.size:
        return None
    order = np.argsort(bucket, kind="stable")
    names, starts, counts = np.unique(bucket[order], return_index=True, return_counts=True)
    free = np.ones(slots, dtype=bool)
    displacement = np.zeros(buckets, dtype=np.int64)
    for at in np.argsort(-counts, kind="stable"):
        members = upper[order[starts[at] : starts[at] + counts[at]]]
        for candidate in range(slots):
            places = members ^ candidate
            if free[places].all():
                free[places] = False
                displacement[names[at]] = candidate
                break
        else:
            return None
    return displacement
