"""porc against its twin and the paper's statements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.porc import Porc
from tests.routers.streams import small_streams, zipf
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.porc import PorcRouter
from trimtab.routers.shuffle import ShuffleRouter


@given(
    hashes=small_streams(),
    lanes=st.integers(1, 20),
    epsilon=st.sampled_from([0.0, 0.01, 0.3, 2.0, 50.0]),
    seed=st.integers(0, 99),
)
def test_fast_equals_slow(
    hashes: NDArray[np.uint64], lanes: int, epsilon: float, seed: int
) -> None:
    fast, slow = PorcRouter(lanes, epsilon, seed), Porc(lanes, epsilon, seed)
    for batch in (hashes, hashes[::-1]):
        assert fast.route(batch).tolist() == slow.route(batch.tolist())
        fast.advance()
        slow.advance()


@pytest.mark.parametrize("z", [1.0, 2.0])
def test_fast_equals_slow_where_nearly_all_lanes_are_full(z: float) -> None:
    hashes = zipf(5000, 300, z, seed=1)
    fast, slow = PorcRouter(64, 0.01, 1), Porc(64, 0.01, 1)
    assert fast.route(hashes).tolist() == slow.route(hashes.tolist())


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("z", [0.5, 1.0, 2.0])
def test_no_lane_is_ever_above_its_bound(epsilon: float, z: float) -> None:
    hashes = zipf(100_000, 10_000, z, seed=1)
    r = PorcRouter(64, epsilon, seed=2)
    for end in (1, 63, 64, 65, 1000, 100_000):
        r.route(hashes[int(r.loads().sum()) : end])
        assert r.loads().max() <= math.ceil((1 + epsilon) * end / 64)


def pairs(hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> int:
    return int(np.unique(np.stack([hashes, lanes.astype(np.uint64)]), axis=1).shape[1])


def test_it_replicates_less_than_shuffle_and_less_with_more_room() -> None:
    # At 64 lanes and z = 1 shuffle puts most of the 10,000 keys' 100,000 tuples on lanes of their
    # own. Only what overflows is split here: half of shuffle's pairs is a wide margin.
    hashes = zipf(100_000, 10_000, 1.0, seed=1)
    shuffled = pairs(hashes, ShuffleRouter(64).route(hashes))
    tight = pairs(hashes, PorcRouter(64, 0.01, seed=2).route(hashes))
    loose = pairs(hashes, PorcRouter(64, 1.0, seed=2).route(hashes))
    assert tight < shuffled / 2
    assert loose < tight


def test_a_key_that_meets_no_full_lane_is_not_split() -> None:
    hashes = zipf(20_000, 1000, 1.0, seed=1)
    lanes = PorcRouter(16, epsilon=1e6, seed=2).route(hashes)
    assert pairs(hashes, lanes) == np.unique(hashes).size


@pytest.mark.parametrize("epsilon", [-0.1, float("inf"), float("nan"), "x"], ids=repr)
def test_epsilon_is_checked(epsilon: object) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be a number"):
        PorcRouter(4, epsilon)  # type: ignore[arg-type]


def test_a_state_that_does_not_fit_is_refused() -> None:
    state = PorcRouter(4).state()
    state["arrays"]["_loads"] = np.zeros(3, dtype=np.int64)
    with pytest.raises(CorruptState, match="3 loads for 4 lanes"):
        PorcRouter.restore(state)
