"""Streams and checks that the tests of all sketches share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from trimtab import hash_keys
from trimtab.workloads.zipf import drifting_zipf, zipf_ids

Hashes = NDArray[np.uint64]

HOSTILE: dict[str, Hashes] = {
    "empty": np.empty(0, dtype=np.uint64),
    "a single tuple": np.array([7], dtype=np.uint64),
    "a single key": np.full(700, 3, dtype=np.uint64),
    "hashes of 2^63 and above": np.array([2**63, 2**64 - 1, 2**63 + 1] * 50, dtype=np.uint64),
    "zero and one": np.tile(np.array([0, 1], dtype=np.uint64), 200),
    "all different": np.arange(1500, dtype=np.uint64),
    "all different, then all again": np.tile(np.arange(400, dtype=np.uint64), 3),
    "multiples of a big power of two": np.arange(300, dtype=np.uint64) << np.uint64(40),
    "a key that comes back after many others": np.concatenate(
        [[5] * 50, np.arange(100, 900), [5] * 50, np.arange(900, 1500), [5] * 3]
    ).astype(np.uint64),
}


def zipf(tuples: int, keys: int, z: float, seed: int = 1) -> Hashes:
    return hash_keys(zipf_ids(tuples, keys, z, seed))


def drifting(tuples: int, keys: int, z: float, every: int, seed: int = 1) -> Hashes:
    return hash_keys(drifting_zipf(tuples, keys, z, every, seed))


def small_streams() -> st.SearchStrategy[Hashes]:
    """Return short streams over few or many keys, small or large hashes, level or skewed."""
    few = hnp.arrays(np.uint64, st.integers(0, 300), elements=st.integers(0, 5))
    some = hnp.arrays(np.uint64, st.integers(0, 300), elements=st.integers(0, 60))
    many = hnp.arrays(np.uint64, st.integers(0, 300), elements=st.integers(0, 2**64 - 1))
    skewed = st.builds(
        zipf, st.integers(1, 400), st.integers(1, 80), st.floats(0, 3), st.integers(0, 1000)
    )
    return st.one_of(few, some, many, skewed)


def some_weights(size: int, seed: int) -> NDArray[np.float64]:
    """Return weights of eighths, so that sums are exact in any order; some are zero."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 40, size).astype(np.float64) / 8


def true_counts(stream: Hashes) -> tuple[Hashes, NDArray[np.float64]]:
    keys, counts = np.unique(stream, return_counts=True)
    return keys, counts.astype(np.float64)
