"""Laws of keys as the papers state them: how many keys, and the share of the most frequent one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number, whole
from trimtab.keys import hash_keys
from trimtab.workloads.zipf import zipf_edges, zipf_ranks, zipf_shares


@lru_cache(maxsize=64)
def exponent_for(keys: int, top_share: float) -> float:
    """Return the exponent at which the most frequent of `keys` keys has `top_share` of the stream.

    >>> round(exponent_for(1000, zipf_shares(1000, 1.2)[0]), 3)
    1.2
    """
    whole("keys", keys, 2)
    real("top_share", top_share, 1 / keys, 1, high_open=True)
    low, high = 0.0, 8.0
    logarithms = np.log(np.arange(1, keys + 1, dtype=np.float64))
    for _ in range(40):
        middle = (low + high) / 2
        if 1 / np.exp(-middle * logarithms).sum() < top_share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@dataclass(frozen=True)
class Law:
    """Zipf's law over a number of keys, from 1 to 10,000,000 and more.

    Parameters
    ----------
    keys
        Number of keys, 1 or more.
    z
        Exponent, 0 or more; 0 is uniform.

    Examples
    --------
    >>> law = Law.of_top_share(keys=1000, top_share=0.1)
    >>> round(float(law.shares()[0]), 3)
    0.1
    >>> law.hashes(5, seed=1).dtype
    dtype('uint64')
    """

    keys: int
    z: float

    def __post_init__(self) -> None:
        whole("keys", self.keys, 1)
        real("z", self.z, 0)

    @classmethod
    def of_top_share(cls, keys: int, top_share: float) -> Law:
        """Make the law whose most frequent key has `top_share` of the stream."""
        return cls(keys, exponent_for(keys, top_share))

    def shares(self) -> NDArray[np.float64]:
        """Return the share of each rank."""
        return zipf_shares(self.keys, self.z)

    def ids(self, tuples: int, seed: int = 0) -> NDArray[np.int64]:
        """Draw key ids; which id has which rank depends on the seed."""
        random = np.random.default_rng(seed_number(seed))
        names = random.permutation(self.keys)
        ranks = zipf_ranks(random.random(whole("tuples", tuples, 0)), zipf_edges(self.keys, self.z))
        return np.asarray(names[ranks])

    def hashes(self, tuples: int, seed: int = 0) -> NDArray[np.uint64]:
        """Draw key hashes."""
        return hash_keys(self.ids(tuples, seed))


def wikipedia_pages(scale: float = 1.0) -> Law:
    """Return the law of Wikipedia's page visits: 2.9 million pages, 9.32 % on the first (CG)."""
    return Law.of_top_share(_scaled(2_900_000, scale), 0.0932)


def tweet_words(scale: float = 1.0) -> Law:
    """Return the law of words in tweets: 790,000 words (Prompt), 2.67 % for the first (CG)."""
    return Law.of_top_share(_scaled(790_000, scale), 0.0267)


def hashtags(scale: float = 1.0) -> Law:
    """Return the law of T4SA's hashtags: 450,000 of them, 2.69 % for the first (Dalton)."""
    return Law.of_top_share(_scaled(450_000, scale), 0.0269)


def election_hashtags(scale: float = 1.0) -> Law:
    """Return the law of hashtags in an election: 200,000, 7.2 % for the first (Dalton)."""
    return Law.of_top_share(_scaled(200_000, scale), 0.072)


def post_codes(scale: float = 1.0) -> Law:
    """Return the law of voters by post code: 100,000, 38.45 % for the first (Dalton)."""
    return Law.of_top_share(_scaled(100_000, scale), 0.3845)


def music_tags(scale: float = 1.0) -> Law:
    """Return a law of tags of music: 100,000 of them, 5 % for the first.

    Dynamic Repartitioning does not state the law of its LFM stream. Its figures have 20 partitions
    at twice the mean under hashing and nearly level under KIP, so that no tag fills a partition.
    """
    return Law.of_top_share(_scaled(100_000, scale), 0.05)


def followers(scale: float = 1.0) -> Law:
    """Return a law of edges by account in a social graph: 1,000,000 accounts, 1 % for the first."""
    return Law.of_top_share(_scaled(1_000_000, scale), 0.01)


def _scaled(keys: int, scale: float) -> int:
    return max(1000, round(keys * real("scale", scale, 0, low_open=True)))
