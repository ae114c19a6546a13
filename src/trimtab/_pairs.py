"""The distinct pairs of key and lane in a stream: what every cost of split keys is counted from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes
from trimtab._kernel import kernel
from trimtab._table import KeyTable, Table, locate
from trimtab.errors import InvalidArgument


def lane_numbers(values: ArrayLike, n: int | None = None) -> NDArray[np.int64]:
    """Return lanes as whole numbers, each in 0..n-1 where `n` is given."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidArgument(
            f"lanes must be a list of whole numbers; got {array.ndim}-dimensional {array.dtype}"
        )
    if array.size and (array.min() < 0 or (n is not None and array.max() >= n)):
        allowed = "0 or more" if n is None else f"in 0..{n - 1}"
        raise InvalidArgument(f"lanes must be {allowed}; got {array.min()}..{array.max()}")
    return array.astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The distinct (key, lane) pairs of a stream, numbered in order of appearance."""

    ids: NDArray[np.int32]
    """Number of each tuple's pair."""
    key: NDArray[np.int32]
    """Number of each pair's key."""
    lane: NDArray[np.int64]
    """Lane of each pair."""
    keys: int
    """Number of distinct keys."""
    replicas: int
    """Number of distinct pairs."""
    hashes: NDArray[np.uint64]
    """Key hash of each tuple."""
    key_ids: NDArray[np.int32]
    """Number of each tuple's key."""

    @property
    def replication(self) -> float:
        """Lanes per key; no keys are on one lane each."""
        return self.replicas / self.keys if self.keys else 1.0

    @property
    def names(self) -> NDArray[np.uint64]:
        """The hash of each key, by its number."""
        names = np.empty(self.keys, dtype=np.uint64)
        names[self.key_ids] = self.hashes
        return names

    @classmethod
    def of(cls, hashes: ArrayLike, lanes: ArrayLike) -> Pairs:
        """Find and number the keys and the pairs of a stream."""
        keys, where = key_hashes(hashes), lane_numbers(lanes)
        if keys.size != where.size:
            raise InvalidArgument(
                f"hashes and lanes must be one per tuple; got {keys.size} and {where.size}"
            )
        known, pairs = KeyTable(), KeyTable()
        ids, key_ids = np.empty(keys.size, dtype=np.int32), np.empty(keys.size, dtype=np.int32)
        stride = np.uint64(where.max() + 1 if where.size else 1)
        done = 0
        while done < keys.size:
            done = _number(
                keys,
                where,
                stride,
                done,
                known.arrays,
                pairs.arrays,
                ids,
                key_ids,
            )
            for table in (known, pairs):
                if 2 * len(table) >= table.keys.size:
                    table.grow()
        lane, key = np.empty(len(pairs), dtype=np.int64), np.empty(len(pairs), dtype=np.int32)
        lane[ids], key[ids] = where, key_ids
        return cls(ids, key, lane, len(known), len(pairs), keys, key_ids)


@kernel
def _number(
    hashes: NDArray[np.uint64],
    lanes: NDArray[np.int64],
    stride: np.uint64,
    start: int,
    known: Table,
    pairs: Table,
    ids: NDArray[np.int32],
    key_ids: NDArray[np.int32],
) -> int:
    """Write the numbers of each tuple's key and pair; return where a half-full table stopped it."""
    key_keys, key_slots, key_used = known
    pair_keys, pair_slots, pair_used = pairs
    for i in range(start, hashes.size):
        if 2 * key_used[0] >= key_keys.size or 2 * pair_used[0] >= pair_keys.size:
            return i
        at = locate(key_keys, key_slots, hashes[i])
        if key_slots[at] < 0:
            key_keys[at] = hashes[i]
            key_slots[at] = key_used[0]
            key_used[0] += 1
        key_ids[i] = key_slots[at]
        # Below 2^31 keys times 2^20 lanes: the pair fits a word, and no two pairs share one.
        pair = np.uint64(key_slots[at]) * stride + np.uint64(lanes[i])
        at = locate(pair_keys, pair_slots, pair)
        if pair_slots[at] < 0:
            pair_keys[at] = pair
            pair_slots[at] = pair_used[0]
            pair_used[0] += 1
        ids[i] = pair_slots[at]
    return hashes.size
