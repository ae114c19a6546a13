"""flexsp against its twin and its bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.head_and_tail import flexsp_lanes
from tests.routers.streams import small_streams, zipf
from trimtab import router
from trimtab.metrics import max_over_mean, replication


@given(small_streams(), st.integers(1, 20), st.integers(0, 99), st.sampled_from([0.0, 0.3, 1.0]))
def test_fast_equals_slow(hashes: NDArray[np.uint64], lanes: int, seed: int, beta: float) -> None:
    made = router("flexsp", lanes=lanes, beta=beta, seed=seed)
    assert made.route(hashes).tolist() == flexsp_lanes(hashes.tolist(), lanes, beta, seed)


def test_all_keys_split_is_partial_key_grouping() -> None:
    hashes = zipf(20_000, 1000, 1.0, seed=1)
    flexible, partial = router("flexsp", lanes=8, beta=1.0, seed=3), router("pkg", lanes=8, seed=3)
    assert flexible.route(hashes).tolist() == partial.route(hashes).tolist()


def test_replicas_keep_to_the_share_and_balance_grows_with_it() -> None:
    hashes = zipf(100_000, 5000, 0.8, seed=2)
    ratios = []
    for beta in (0.0, 0.5, 1.0):
        made = router("flexsp", lanes=16, beta=beta, seed=1)
        assert replication(hashes, made.route(hashes)) <= 1 + beta + 0.02
        ratios.append(max_over_mean(made.loads()))
    assert ratios[0] > ratios[1] > ratios[2]
