"""Zipf streams: the share of rank r is proportional to 1 / r^z."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number, whole


def zipf_shares(keys: int, z: float) -> NDArray[np.float64]:
    """Return the share of each rank among `keys` keys with exponent `z` (0 is uniform).

    >>> zipf_shares(4, 1.0).round(2).tolist()
    [0.48, 0.24, 0.16, 0.12]
    """
    whole("keys", keys, 1)
    real("z", z, 0)
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -z
    return np.asarray(weights / weights.sum())


def zipf_edges(keys: int, z: float) -> NDArray[np.float64]:
    """Return where each rank's part of the interval from 0 to 1 ends."""
    edges = np.cumsum(zipf_shares(keys, z))
    edges[-1] = 1.0  # whatever rounding has left over
    return edges


def zipf_ranks(draws: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rank that each draw from [0, 1) falls on."""
    return np.searchsorted(edges, draws, side="right")


def zipf_ids(tuples: int, keys: int, z: float, seed: int = 0) -> NDArray[np.int64]:
    """Draw `tuples` key ids in 0..keys-1 by Zipf's law; which id has which rank is random.

    >>> ids = zipf_ids(1000, 50, 1.0, seed=1)
    >>> ids.size, bool(ids.min() >= 0), bool(ids.max() < 50)
    (1000, True, True)
    """
    whole("tuples", tuples, 0)
    rng = np.random.default_rng(seed_number(seed))
    names = rng.permutation(keys)
    return np.asarray(names[zipf_ranks(rng.random(tuples), zipf_edges(keys, z))])


def drifting_zipf(tuples: int, keys: int, z: float, every: int, seed: int = 0) -> NDArray[np.int64]:
    """Draw a Zipf stream in which the keys get new ranks, at random, every `every` tuples.

    >>> ids = drifting_zipf(2000, 100, 1.5, every=1000, seed=1)
    >>> bool(np.bincount(ids[:1000]).argmax() != np.bincount(ids[1000:]).argmax())
    True
    """
    whole("every", every, 1)
    rng = np.random.default_rng(seed_number(seed))
    edges = zipf_edges(keys, z)
    parts = []
    for start in range(0, tuples, every):
        names = rng.permutation(keys)
        parts.append(names[zipf_ranks(rng.random(min(every, tuples - start)), edges)])
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
