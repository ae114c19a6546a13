"""xxHash64 from its specification, and what Spark feeds into it, in plain Python integers."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

MASK = (1 << 64) - 1
PRIME_1 = 11400714785074694791
PRIME_2 = 14029467366897019727
PRIME_3 = 1609587929392839161
PRIME_4 = 9650029242287828579
PRIME_5 = 2870177450012600261


def rotate_left(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & MASK


def lane_round(lane: int, word: int) -> int:
    return rotate_left((lane + word * PRIME_2) & MASK, 31) * PRIME_1 & MASK


def xxhash64(data: bytes, seed: int) -> int:
    rest = data
    if len(data) < 32:
        acc = (seed + PRIME_5) & MASK
    else:
        lanes = [
            (seed + PRIME_1 + PRIME_2) & MASK,
            (seed + PRIME_2) & MASK,
            seed,
            (seed - PRIME_1) & MASK,
        ]
        while len(rest) >= 32:
            words = struct.unpack("<4Q", rest[:32])
            lanes = [lane_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            rest = rest[32:]
        acc = sum(rotate_left(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18), strict=True))
        acc &= MASK
        for lane in lanes:
            acc = ((acc ^ lane_round(0, lane)) * PRIME_1 + PRIME_4) & MASK
    acc = (acc + len(data)) & MASK
    while len(rest) >= 8:
        acc ^= lane_round(0, int.from_bytes(rest[:8], "little"))
        acc = (rotate_left(acc, 27) * PRIME_1 + PRIME_4) & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        acc ^= int.from_bytes(rest[:4], "little") * PRIME_1 & MASK
        acc = (rotate_left(acc, 23) * PRIME_2 + PRIME_3) & MASK
        rest = rest[4:]
    for byte in rest:
        acc ^= byte * PRIME_5 & MASK
        acc = rotate_left(acc, 11) * PRIME_1 & MASK
    acc ^= acc >> 33
    acc = acc * PRIME_2 & MASK
    acc ^= acc >> 29
    acc = acc * PRIME_3 & MASK
    return acc ^ (acc >> 32)


def canonical(value: float) -> float:
    """Return the one NaN and the one zero that Java's bit functions know."""
    return math.nan if math.isnan(value) else value + 0.0


def key_bytes(kind: str, value: object) -> bytes:
    """Return the bytes that Spark hashes for a value of the given SQL type."""
    if kind in {"boolean", "tinyint", "smallint", "int", "date"}:
        return struct.pack("<i", value)
    if kind in {"bigint", "timestamp", "decimal"}:  # microseconds; the unscaled number
        return struct.pack("<q", value)
    if kind == "float":
        assert isinstance(value, float)
        return struct.pack("<f", canonical(value))
    if kind == "double":
        assert isinstance(value, float)
        return struct.pack("<d", canonical(value))
    if kind == "string":
        assert isinstance(value, str)
        return value.encode()
    if kind == "binary":
        assert isinstance(value, bytes)
        return value
    raise AssertionError(kind)


def hash_row(kinds: Sequence[str], values: Sequence[object]) -> int:
    """Hash the columns of one key in order, each with the hash so far as its seed."""
    acc = 42
    for kind, value in zip(kinds, values, strict=True):
        if value is not None:
            acc = xxhash64(key_bytes(kind, value), acc)
    return acc


def hash_column(kind: str, values: Sequence[object]) -> list[int]:
    return [hash_row([kind], [value]) for value in values]
