"""Compiled xxHash64 as Spark uses it: whole columns, the row's hash so far being the next seed.

Each kernel reads one column and replaces `hashes[i]`, the seed of row i, by the hash of row i. A
null leaves the seed as it is. `bitmap` is Arrow's validity bitmap, read from bit `first` on; an
empty one means that there are no nulls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import inline, kernel

SEED = 42
"""The seed of Spark's `xxhash64` function."""

# The five primes of the xxHash specification.
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)

# The only NaN that Java's floatToIntBits and doubleToLongBits give.
_NAN32 = 0x7FC00000
_NAN64 = 0x7FF8000000000000


@inline
def _rotate(x: Any, bits: Any) -> Any:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@inline
def _finish(x: Any) -> Any:
    x = (x ^ (x >> np.uint64(33))) * _P2
    x = (x ^ (x >> np.uint64(29))) * _P3
    return x ^ (x >> np.uint64(32))


@inline
def _mix_word(state: Any, word: Any) -> Any:
    return _rotate(state ^ (_rotate(word * _P2, 31) * _P1), 27) * _P1 + _P4


@inline
def _mix_half(state: Any, half: Any) -> Any:
    return _rotate(state ^ (half * _P1), 23) * _P2 + _P3


@inline
def _hash_int(value: Any, seed: Any) -> Any:
    half = np.uint64(value) & np.uint64(0xFFFFFFFF)
    return _finish(_mix_half(seed + _P5 + np.uint64(4), half))


@inline
def _hash_long(value: Any, seed: Any) -> Any:
    return _finish(_mix_word(seed + _P5 + np.uint64(8), np.uint64(value)))


@inline
def _is_null(bitmap: Any, bit: Any) -> Any:
    return (bitmap[bit >> 3] >> (bit & 7)) & 1 == 0


@kernel
def hash_ints(
    values: NDArray[np.int32], bitmap: NDArray[np.uint8], first: int, hashes: NDArray[np.uint64]
) -> None:
    """Hash a column of 32-bit integers, which is also what smaller ones, dates and booleans are."""
    nulls = bitmap.size > 0
    for i in range(values.size):
        if nulls and _is_null(bitmap, first + i):
            continue
        hashes[i] = _hash_int(values[i], hashes[i])


@kernel
def hash_longs(
    values: NDArray[np.int64], bitmap: NDArray[np.uint8], first: int, hashes: NDArray[np.uint64]
) -> None:
    """Hash a column of 64-bit integers, which is also what timestamps and short decimals are."""
    nulls = bitmap.size > 0
    for i in range(values.size):
        if nulls and _is_null(bitmap, first + i):
            continue
        hashes[i] = _hash_long(values[i], hashes[i])


@kernel
def hash_floats(
    bits: NDArray[np.int32], bitmap: NDArray[np.uint8], first: int, hashes: NDArray[np.uint64]
) -> None:
    """Hash a column of floats, given by their bits: -0.0 counts as 0.0, and all NaNs are one."""
    nulls = bitmap.size > 0
    for i in range(bits.size):
        if nulls and _is_null(bitmap, first + i):
            continue
        value = bits[i]
        magnitude = value & np.int32(0x7FFFFFFF)
        if magnitude == 0:
            value = np.int32(0)
        elif magnitude > np.int32(0x7F800000):
            value = np.int32(_NAN32)
        hashes[i] = _hash_int(value, hashes[i])


@kernel
def hash_doubles(
    bits: NDArray[np.int64], bitmap: NDArray[np.uint8], first: int, hashes: NDArray[np.uint64]
) -> None:
    """Hash a column of doubles, given by their bits: -0.0 counts as 0.0, and all NaNs are one."""
    nulls = bitmap.size > 0
    for i in range(bits.size):
        if nulls and _is_null(bitmap, first + i):
            continue
        value = bits[i]
        magnitude = value & np.int64(0x7FFFFFFFFFFFFFFF)
        if magnitude == 0:
            value = np.int64(0)
        elif magnitude > np.int64(0x7FF0000000000000):
            value = np.int64(_NAN64)
        hashes[i] = _hash_long(value, hashes[i])


@inline
def _read_half(data: Any, at: Any) -> Any:
    # Unsigned positions spare the test for negative ones, so that LLVM joins the bytes to one load.
    word = np.uint64(data[at])
    word |= np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
    return word


@inline
def _read_word(data: Any, at: Any) -> Any:
    return _read_half(data, at) | (_read_half(data, at + np.uint64(4)) << np.uint64(32))


@inline
def _lane_round(lane: Any, word: Any) -> Any:
    return _rotate(lane + word * _P2, 31) * _P1


@inline
def _merge_lane(state: Any, lane: Any) -> Any:
    return (state ^ (_rotate(lane * _P2, 31) * _P1)) * _P1 + _P4


@inline
def _hash_bytes(data: Any, at: Any, end: Any, seed: Any) -> Any:
    length = end - at
    if length >= np.uint64(32):
        a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while at + np.uint64(32) <= end:
            a = _lane_round(a, _read_word(data, at))
            b = _lane_round(b, _read_word(data, at + np.uint64(8)))
            c = _lane_round(c, _read_word(data, at + np.uint64(16)))
            d = _lane_round(d, _read_word(data, at + np.uint64(24)))
            at += np.uint64(32)
        state = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        state = _merge_lane(_merge_lane(_merge_lane(_merge_lane(state, a), b), c), d)
    else:
        state = seed + _P5
    state += length
    while at + np.uint64(8) <= end:
        state = _mix_word(state, _read_word(data, at))
        at += np.uint64(8)
    if at + np.uint64(4) <= end:
        state = _mix_half(state, _read_half(data, at))
        at += np.uint64(4)
    while at < end:
        state = _rotate(state ^ (np.uint64(data[at]) * _P5), 11) * _P1
        at += np.uint64(1)
    return _finish(state)


@kernel
def hash_bytes(
    offsets: NDArray[np.int32] | NDArray[np.int64],
    data: NDArray[np.uint8],
    bitmap: NDArray[np.uint8],
    first: int,
    hashes: NDArray[np.uint64],
) -> None:
    """Hash a column of strings or binaries: row i is `data[offsets[i]:offsets[i + 1]]`."""
    nulls = bitmap.size > 0
    for i in range(hashes.size):
        if nulls and _is_null(bitmap, first + i):
            continue
        start, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        hashes[i] = _hash_bytes(data, start, end, hashes[i])
