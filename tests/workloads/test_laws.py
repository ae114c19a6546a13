from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads import Law, laws


@pytest.mark.parametrize(
    ("law", "keys", "top_share"),
    [
        (laws.wikipedia_pages(0.05), 145_000, 0.0932),
        (laws.tweet_words(0.1), 79_000, 0.0267),
        (laws.hashtags(0.1), 45_000, 0.0269),
        (laws.election_hashtags(0.1), 20_000, 0.072),
        (laws.post_codes(), 100_000, 0.3845),
        (laws.music_tags(), 100_000, 0.05),
        (laws.followers(0.1), 100_000, 0.01),
    ],
    ids=["wikipedia", "words", "hashtags", "elections", "post codes", "tags", "followers"],
)
def test_a_stream_gives_back_the_keys_and_the_top_share(
    law: Law, keys: int, top_share: float
) -> None:
    counts = np.sort(np.bincount(law.ids(200_000, seed=1), minlength=keys))[::-1]
    assert counts.size == keys
    assert counts[0] / 200_000 == pytest.approx(top_share, abs=5 * (top_share / 200_000) ** 0.5)


@pytest.mark.parametrize("z", [0.5, 1.0, 2.0, 3.0])
def test_the_exponent_is_given_back_by_the_ranks(z: float) -> None:
    counts = np.sort(np.bincount(Law(10_000, z).ids(2_000_000, seed=2)))[::-1]
    # Ranks that were drawn often: their counts fall as a straight line on two logarithmic scales.
    often = min(100, int((counts > 500).sum()))
    ranks = np.log(np.arange(1, often + 1))
    slope = np.polyfit(ranks, np.log(counts[:often]), 1, w=np.sqrt(counts[:often]))[0]
    # Counts that are sorted look steeper than they were drawn where they hardly differ.
    assert slope == pytest.approx(-z, abs=0.12 if z < 1 else 0.05)


def test_ten_million_keys_can_be_drawn_from() -> None:
    law = Law(10_000_000, 0.5)
    ids = law.ids(10_000, seed=3)
    assert ids.max() > 9_000_000
    assert np.unique(ids).size > 9_900


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="top_share"):
        Law.of_top_share(1000, 1.0)
    with pytest.raises(InvalidArgument, match="keys"):
        Law(0, 1.0)
