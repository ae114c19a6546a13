"""Plain-Python twins of the hash family that all routers draw their candidates from."""

from __future__ import annotations

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix64(word: int) -> int:
    """Scramble a 64-bit word."""
    word &= MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def reduce_range(word: int, n: int) -> int:
    """Map a word to 0..n-1 by its upper half."""
    return ((word >> 32) * n) >> 32


def salt(seed: int, number: int) -> int:
    """Return the salt of hash function `number` (0, 1, ...) under a seed."""
    return mix64(seed + (number + 1) * GOLDEN)


def choice(key: int, seed: int, number: int, n: int) -> int:
    """Apply hash function `number` to a key, onto 0..n-1."""
    return reduce_range(mix64(key ^ salt(seed, number)), n)
