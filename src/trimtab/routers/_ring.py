"""The ring of consistent hashing: many points per lane on a circle of 2^64 positions."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import inline, kernel, mix64, salts, word_at
from trimtab._parameters import Parameter, Whole

DEFAULT_POINTS = 100
"""Lanes differ by about `1/sqrt(points)` in their share of the circle, here 10 %."""

POINTS = Parameter(
    "points",
    DEFAULT_POINTS,
    Whole(1, together=1 << 24),
    "points per lane on the ring; more make shares of the keys more even",
)


class Ring(NamedTuple):
    """Points in clockwise order, and an index that finds a position's successor.

    The circle closes without a test: `positions` ends with the highest word, which stands for the
    first point, and `owners` goes round twice. `firsts` gives, for each value of a position's upper
    bits, the first point that is not below that value.
    """

    positions: NDArray[np.uint64]
    owners: NDArray[np.int32]
    firsts: NDArray[np.int32]
    shift: np.uint64
    salt: np.uint64


@lru_cache(maxsize=16)  # a constant of its arguments that nobody writes to
def ring(lanes: int, points: int, seed: int) -> Ring:
    """Place `points` points per lane; where they are does not depend on the number of lanes."""
    key_salt, point_salt = salts(seed, 2)
    places = np.empty(lanes * points, dtype=np.uint64)
    _scatter(places, point_salt)
    order = np.argsort(places, kind="stable")
    positions, owners = places[order], (order // points).astype(np.int32)
    # Twice as many buckets as points: most look-ups compare with one point or two.
    bits = (2 * places.size - 1).bit_length()
    buckets = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    return Ring(
        np.append(positions, np.uint64(0xFFFFFFFFFFFFFFFF)),
        np.concatenate([owners, owners]),
        np.searchsorted(positions, buckets).astype(np.int32),
        np.uint64(64 - bits),
        key_salt,
    )


@kernel
def _scatter(places: NDArray[np.uint64], salt: np.uint64) -> None:
    for i in range(places.size):
        places[i] = word_at(salt, np.uint64(i))


@inline
def successor(ring: Ring, key: np.uint64) -> np.uint64:
    """Return the first point at or after the key's position.

    Unsigned, as all indices in these kernels: a signed one costs a test for negative indices.
    """
    position = mix64(key ^ ring.salt)
    at = np.uint64(ring.firsts[position >> ring.shift])
    while ring.positions[at] < position:
        at += np.uint64(1)
    return at
