"""The second stage: reducers that merge what split keys left on several lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, whole
from trimtab._kernel import GOLDEN, mix64_int
from trimtab._pairs import Pairs


@dataclass(frozen=True)
class Reducers:
    """What a merge costs, and who does it.

    Parameters
    ----------
    count
        Number of reducers, 1 or more; a key's fragments meet on the reducer of its hash.
    fragment_seconds
        Seconds per fragment, that is per key and lane, 0 or more.
    key_seconds
        Seconds per key that is merged, 0 or more.
    only_split
        Whether keys that are on one lane pass the reducers by (Dalton, Section 4.2). Otherwise
        every key goes through them, once any key is split.
    always
        Whether keys go through them although no key is split: in micro-batches, where a lane only
        knows its keys' results of one batch (Dalton, Section 5.1).

    Examples
    --------
    >>> keys, lanes = np.array([7, 7, 8], dtype=np.uint64), np.array([0, 1, 1], dtype=np.int32)
    >>> Reducers(1, fragment_seconds=1.0, only_split=True).merge(keys, lanes).seconds.tolist()
    [2.0]
    >>> Reducers(1, fragment_seconds=1.0, only_split=False).merge(keys, lanes).seconds.tolist()
    [3.0]

    References
    ----------
    Holistic, Section 2.3 and Equation 2; Dalton, Sections 2 and 4.2.
    """

    count: int = 1
    fragment_seconds: float = 1e-6
    key_seconds: float = 0.0
    only_split: bool = True
    always: bool = False

    def __post_init__(self) -> None:
        whole("count", self.count, 1)
        real("fragment_seconds", self.fragment_seconds, 0)
        real("key_seconds", self.key_seconds, 0)

    def merge(self, keys: NDArray[np.uint64], lanes: NDArray[np.int32]) -> Merged:
        """Merge the fragments that a window left: one entry per key and lane, or per tuple."""
        pairs = Pairs.of(keys, lanes)
        fragments = np.bincount(pairs.key, minlength=pairs.keys)
        widest = int(fragments.max(initial=0))
        if widest <= 1 and not self.always:
            return Merged(np.zeros(self.count), pairs.replicas, pairs.keys, 0)
        if self.only_split and not self.always:
            fragments[fragments == 1] = 0
        merged = np.flatnonzero(fragments)
        # The reducer of a key has nothing to do with its lane, which may come from the same hash.
        names = pairs.names[merged] ^ np.uint64(mix64_int(self.count))
        where = ((names * np.uint64(GOLDEN)) >> np.uint64(32)) % np.uint64(self.count)
        work = self.fragment_seconds * fragments[merged] + self.key_seconds
        seconds = np.bincount(where.astype(np.int64), weights=work, minlength=self.count)
        return Merged(seconds.astype(np.float64), pairs.replicas, pairs.keys, int(fragments.sum()))


@dataclass(frozen=True, eq=False)
class Merged:
    """What the reducers had to do.

    Attributes
    ----------
    seconds
        Work of each reducer.
    replicas, keys
        Key-lane pairs and distinct keys of the window.
    fragments
        Fragments that were merged.
    """

    seconds: NDArray[np.float64]
    replicas: int
    keys: int
    fragments: int
