"""Streams that every router must take: random, skewed, tiny and hostile ones."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from trimtab import hash_keys
from trimtab.workloads import zipf_ids

HOSTILE: dict[str, NDArray[np.uint64]] = {
    "empty": np.empty(0, dtype=np.uint64),
    "a single tuple": np.array([7], dtype=np.uint64),
    "a single key": np.full(500, 3, dtype=np.uint64),
    "hashes of 2^63 and above": np.array([2**63, 2**64 - 1, 2**63 + 1] * 50, dtype=np.uint64),
    "zero and one": np.tile(np.array([0, 1], dtype=np.uint64), 200),
    "all different": np.arange(2000, dtype=np.uint64),
    "multiples of a big power of two": np.arange(300, dtype=np.uint64) << np.uint64(40),
    "two keys by turns, then a third": np.repeat(
        np.array([11, 12, 11, 13], dtype=np.uint64), [100, 100, 100, 200]
    ),
}


def zipf(tuples: int, keys: int, z: float, seed: int) -> NDArray[np.uint64]:
    """Return the key hashes of a Zipf stream."""
    return hash_keys(zipf_ids(tuples, keys, z, seed))


def small_streams() -> st.SearchStrategy[NDArray[np.uint64]]:
    """Return short streams over few or many keys, small or large hashes."""
    few = hnp.arrays(np.uint64, st.integers(0, 300), elements=st.integers(0, 5))
    many = hnp.arrays(np.uint64, st.integers(0, 300), elements=st.integers(0, 2**64 - 1))
    skewed = st.builds(
        zipf, st.integers(1, 400), st.integers(1, 60), st.floats(0, 3), st.integers(0, 1000)
    )
    return st.one_of(few, many, skewed)
