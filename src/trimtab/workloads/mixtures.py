"""Streams whose law changes while they run, or differs from source to source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import whole
from trimtab.errors import InvalidArgument
from trimtab.keys import hash_keys
from trimtab.workloads.laws import Law
from trimtab.workloads.zipf import zipf_edges, zipf_ranks


def alternating(
    laws: Sequence[Law], slots: int, tuples: int, every: int, seed: int = 0
) -> Iterator[NDArray[np.uint64]]:
    """Draw slots of `tuples` tuples; the next of `laws` takes over every `every` slots, in turn.

    Each time a law returns, other keys are hot.

    >>> calm, skewed = Law(1000, 0.0), Law(1000, 2.0)
    >>> [len(set(s.tolist())) > 500 for s in alternating([calm, skewed], 4, 2000, every=1)]
    [True, False, True, False]
    """
    if not laws:
        raise InvalidArgument("a stream needs at least one law; got none")
    whole("every", every, 1)
    for slot in range(whole("slots", slots, 0)):
        turn = slot // every
        # One permutation of the keys per turn: a new draw of tuples in each slot.
        yield drawn(laws[turn % len(laws)], tuples, names=seed + turn, draws=[seed, slot])


def side_by_side(
    laws: Sequence[Law], slots: int, tuples: int, seed: int = 0
) -> Iterator[NDArray[np.uint64]]:
    """Draw slots in which every source has a law of its own; tuple i comes from source i mod s."""
    for slot in range(whole("slots", slots, 0)):
        mixed = np.empty(tuples, dtype=np.uint64)
        for source, law in enumerate(laws):
            part = mixed[source :: len(laws)]
            part[:] = drawn(law, part.size, names=seed + source, draws=[seed, slot, source])
        yield mixed


def drawn(law: Law, tuples: int, names: int, draws: Sequence[int]) -> NDArray[np.uint64]:
    """Draw tuples of a law; `names` says which keys are hot, `draws` which tuples come."""
    keys = np.random.default_rng([names, 1]).permutation(law.keys)
    random = np.random.default_rng([*draws, 2]).random(tuples)
    return hash_keys(keys[zipf_ranks(random, zipf_edges(law.keys, law.z))])
