"""Histograms that every planner must take: random, skewed, tiny and hostile ones."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from trimtab import Histogram, hash_keys
from trimtab.workloads import zipf_shares

HOSTILE: dict[str, Histogram] = {
    "empty": Histogram.from_counts({}),
    "nothing but a tail": Histogram.from_counts({}, total=1000.0, distinct=50),
    "one key": Histogram.from_counts({7: 5}),
    "one key and a tail": Histogram.from_counts({7: 5}, total=50.0, distinct=9),
    "one key holds nearly all": Histogram.from_counts({3: 1e9, 4: 1, 5: 1}),
    "all equal": Histogram.from_counts(dict.fromkeys(range(97), 10)),
    "fewer keys than lanes": Histogram.from_counts({1: 9, 2: 9, 3: 9}),
    "all on one hash lane": Histogram.from_counts({64 * k: 100 - k for k in range(40)}),
    "zero weights": Histogram.from_counts(dict.fromkeys(range(20), 0)),
    "some zero weights": Histogram.from_counts({k: max(0, 10 - k) for k in range(20)}),
    "tiny weights": Histogram.from_counts({k: 1e-12 / (k + 1) for k in range(50)}),
    "hashes of 2^63 and above": Histogram.from_counts({2**64 - 1 - k: k + 1 for k in range(30)}),
    "hosts measured": Histogram.from_hashes(
        hash_keys(np.repeat(np.arange(200), np.arange(200) % 7 + 1)), top=10, hosts=700
    ),
}


def zipf_law(keys: int = 100_000, z: float = 1.0) -> NDArray[np.float64]:
    return zipf_shares(keys, z)


def flat_law(keys: int = 100_000) -> NDArray[np.float64]:
    """Return shares proportional to (rank + 10)^-1.5: skewed, but no key above a lane of twenty."""
    weights = (np.arange(1, keys + 1) + 10.0) ** -1.5
    return np.asarray(weights / weights.sum())


def stream(
    law: NDArray[np.float64], batches: int, seed: int, tuples: int = 100_000, swaps: int = 0
) -> list[NDArray[np.uint64]]:
    """Draw batches of key hashes; between two batches `swaps` pairs of the top 500 trade ranks."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(law.size)
    edges = np.cumsum(law)
    edges[-1] = 1.0
    made = []
    for _ in range(batches):
        made.append(hash_keys(names[np.searchsorted(edges, rng.random(tuples), side="right")]))
        for a, b in rng.integers(0, 500, (swaps, 2)):
            names[[a, b]] = names[[b, a]]
    return made


@st.composite
def histograms(draw: st.DrawFn, most_keys: int = 30) -> Histogram:
    """Return a small histogram: any hashes, whole or broken weights, perhaps a tail or hosts."""
    keys = draw(st.lists(st.integers(0, 2**64 - 1), max_size=most_keys, unique=True))
    broken = st.floats(0, 1e6, allow_nan=False, allow_subnormal=False)
    weight = draw(st.sampled_from([st.integers(0, 3), st.integers(0, 500), broken]))
    weights = draw(st.lists(weight, min_size=len(keys), max_size=len(keys)))
    if not draw(st.booleans()):
        return Histogram.from_counts(dict(zip(keys, weights, strict=True)))
    tail = draw(st.lists(st.integers(0, 50), min_size=1, max_size=40))
    hosts = np.array(tail, dtype=np.float64)
    for key, value in zip(keys, weights, strict=True):
        hosts[key % hosts.size] += value
    return Histogram.from_counts(
        dict(zip(keys, weights, strict=True)),
        total=float(hosts.sum()),
        distinct=len(keys) + len(tail),
        host_weights=hosts if draw(st.booleans()) else None,
    )
