"""What every compiled kernel shares: the compiler's options, the mixer and the hash functions.

Kernels are private. They read arrays, fill arrays, and allocate nothing inside their loops. Arrays
that belong together come as a named tuple. A kernel takes them out of it before its loop, and what
it calls for every tuple has no branches: the compiler counts references to arrays wherever a tuple
is read or a branch of a called function ends, which can cost more than the work itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np

_F = TypeVar("_F", bound=Callable[..., Any])

Index: TypeAlias = int | np.signedinteger[Any]
"""A whole number, as kernels have them."""

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: consecutive multiples are spread evenly over the word."""

# The multipliers of splitmix64: one input bit that flips makes each output bit flip half the time.
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _compile(function: _F, **options: Any) -> _F:
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return cast(_F, numba.njit(cache=True, **options)(function))
    except RuntimeError:
        # Imported from a zip or another place with no file to cache beside: compile per process.
        return cast(_F, numba.njit(**options)(function))


def kernel(function: _F) -> _F:
    """Compile `function`: cached on disk, without the GIL, with numpy's error model."""
    return _compile(function)


def inline(function: _F) -> _F:
    """Compile a small function that LLVM always pastes into its callers."""
    return _compile(function, forceinline=True)


@inline
def mix64(x: np.uint64) -> np.uint64:
    """Scramble a word so that every input bit reaches every output bit (splitmix64's finaliser)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_SECOND)
    return x ^ (x >> np.uint64(31))


@inline
def word_at(start: np.uint64, number: np.uint64) -> np.uint64:
    """Return one word of the random sequence that begins at `start` (splitmix64).

    Any word can be had without those before it, so that a counter is all there is to remember.
    """
    return mix64(start + number * np.uint64(GOLDEN))


@inline
def reduce_range(x: np.uint64, n: np.uint64) -> np.int64:
    """Map a well-mixed word to 0..n-1 by its upper half: one multiplication, no division."""
    return np.int64(((x >> np.uint64(32)) * n) >> np.uint64(32))


@inline
def choice(key: np.uint64, salt: np.uint64, n: np.uint64) -> np.int64:
    """Return the hash function number `salt` of a family, from keys to 0..n-1."""
    return reduce_range(mix64(key ^ salt), n)


def mix64_int(x: int) -> int:
    """`mix64` on Python integers, for constructors."""
    mask = (1 << 64) - 1
    x &= mask
    x = ((x ^ (x >> 30)) * _FIRST) & mask
    x = ((x ^ (x >> 27)) * _SECOND) & mask
    return x ^ (x >> 31)


def salts(seed: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return `count` salts, one per hash function, all different for one seed."""
    mask = (1 << 64) - 1
    values = [mix64_int(seed + (i + 1) * GOLDEN & mask) for i in range(count)]
    return np.array(values, dtype=np.uint64)
