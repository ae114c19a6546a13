"""bounded-ch against its twin and the papers' statements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.bounded_ch import bounded_ch_lanes
from tests.routers.streams import small_streams, zipf
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.bounded_ch import BoundedChRouter
from trimtab.routers.ch import ChRouter
from trimtab.routers.shuffle import ShuffleRouter


@given(
    hashes=small_streams(),
    lanes=st.integers(1, 20),
    epsilon=st.sampled_from([0.0, 0.01, 0.3, 2.0, 50.0]),
    points=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_fast_equals_slow(
    hashes: NDArray[np.uint64], lanes: int, epsilon: float, points: int, seed: int
) -> None:
    fast = BoundedChRouter(lanes, epsilon, points, seed)
    for batch in (hashes, hashes[::-1]):
        slow = bounded_ch_lanes(batch.tolist(), lanes, epsilon, points, seed)
        assert fast.route(batch).tolist() == slow
        fast.advance()


@pytest.mark.parametrize("z", [1.0, 2.0])
def test_fast_equals_slow_where_nearly_all_lanes_are_full(z: float) -> None:
    hashes = zipf(5000, 300, z, seed=1)
    slow = bounded_ch_lanes(hashes.tolist(), lanes=64, epsilon=0.01, points=3, seed=1)
    assert BoundedChRouter(64, 0.01, 3, 1).route(hashes).tolist() == slow


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("z", [0.5, 1.0, 2.0])
def test_no_lane_is_ever_above_its_bound(epsilon: float, z: float) -> None:
    hashes = zipf(100_000, 10_000, z, seed=1)
    r = BoundedChRouter(64, epsilon, seed=2)
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
    tight = pairs(hashes, BoundedChRouter(64, 0.01, seed=2).route(hashes))
    loose = pairs(hashes, BoundedChRouter(64, 1.0, seed=2).route(hashes))
    assert tight < shuffled / 2
    assert loose < tight


def test_with_endless_room_it_is_consistent_hashing() -> None:
    hashes = zipf(20_000, 1000, 1.0, seed=1)
    unbounded = BoundedChRouter(16, epsilon=1e6, seed=2).route(hashes)
    assert np.array_equal(unbounded, ChRouter(16, seed=2).route(hashes))


@pytest.mark.parametrize("epsilon", [-0.1, float("inf"), float("nan"), "x"], ids=repr)
def test_epsilon_is_checked(epsilon: object) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be a number"):
        BoundedChRouter(4, epsilon)  # type: ignore[arg-type]


def test_a_state_that_does_not_fit_is_refused() -> None:
    state = BoundedChRouter(4).state()
    state["arrays"]["_loads"] = np.zeros(3, dtype=np.int64)
    with pytest.raises(CorruptState, match="3 loads for 4 lanes"):
        BoundedChRouter.restore(state)
