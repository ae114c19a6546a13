"""d-choices against its twin and its paper's statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import head_and_tail as twins
from tests.routers.streams import zipf
from trimtab import router
from trimtab.metrics import max_over_mean, replication
from trimtab.routers.d_choices import least_choices


@given(st.lists(st.floats(0.001, 0.2), max_size=5), st.integers(1, 80))
def test_the_number_of_choices_equals_the_twin(head: list[float], lanes: int) -> None:
    shares = sorted(head, reverse=True)
    assert least_choices(np.array(shares), lanes) == twins.least_choices(shares, lanes)


@pytest.mark.parametrize(("lanes", "z"), [(5, 1.0), (20, 1.4), (80, 2.0)])
def test_fast_equals_slow(lanes: int, z: float) -> None:
    hashes = zipf(4000, 300, z, seed=2)
    made = router("d-choices", lanes=lanes, seed=1)
    expected = twins.head_and_tail_lanes(hashes.tolist(), lanes, 0.2, 1, "d")
    assert made.route(hashes).tolist() == expected


def test_lanes_are_level_on_fewer_replicas_than_all_lanes_take() -> None:
    hashes = zipf(200_000, 20_000, 1.0, seed=1)
    some, every = router("d-choices", lanes=64, seed=1), router("w-choices", lanes=64, seed=1)
    fewer = replication(hashes, some.route(hashes))
    assert max_over_mean(some.loads()) < 1.1
    assert fewer < replication(hashes, every.route(hashes))


def test_what_was_found_is_kept_from_batch_to_batch() -> None:
    made = router("d-choices", lanes=32, seed=1)
    made.route(zipf(20_000, 1000, 1.2, seed=1))
    found = made.choices  # type: ignore[attr-defined]
    made.advance()
    assert made.choices == found > 2  # type: ignore[attr-defined]
