"""w-choices against its twin and its paper's statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.head_and_tail import head_and_tail_lanes
from tests.routers.streams import small_streams, zipf
from trimtab import router
from trimtab.metrics import max_over_mean, replication


@given(small_streams(), st.integers(1, 20), st.integers(0, 99), st.sampled_from([0.125, 0.5, 2.0]))
def test_fast_equals_slow(hashes: NDArray[np.uint64], lanes: int, seed: int, heat: float) -> None:
    made = router("w-choices", lanes=lanes, heat=heat, seed=seed)
    expected = head_and_tail_lanes(hashes.tolist(), lanes, heat, seed, "w")
    assert made.route(hashes).tolist() == expected


def test_fast_equals_slow_on_a_longer_stream() -> None:
    hashes = zipf(4000, 300, 1.4, seed=2)
    made = router("w-choices", lanes=20, seed=1)
    assert made.route(hashes).tolist() == head_and_tail_lanes(hashes.tolist(), 20, 0.2, 1, "w")


@pytest.mark.parametrize("z", [1.0, 2.0])
def test_lanes_are_level_where_two_choices_are_not_enough(z: float) -> None:
    hashes = zipf(200_000, 20_000, z, seed=1)
    made = router("w-choices", lanes=64, seed=1)
    lanes = made.route(hashes)
    assert max_over_mean(made.loads()) < 1.01
    two = router("pkg", lanes=64, seed=1)
    two.route(hashes)
    assert max_over_mean(two.loads()) > 2.0
    # Cold keys are on two lanes at most, hot ones, fewer than lanes / heat, on all.
    assert replication(hashes, lanes) < replication(
        hashes, router("shuffle", lanes=64).route(hashes)
    )
