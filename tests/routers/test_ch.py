"""ch against its twin and the paper's statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.ch import ch_lanes
from tests.routers.streams import small_streams
from trimtab.errors import InvalidArgument
from trimtab.routers.ch import ChRouter


@given(
    hashes=small_streams(),
    lanes=st.integers(1, 20),
    points=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_fast_equals_slow(hashes: NDArray[np.uint64], lanes: int, points: int, seed: int) -> None:
    fast = ChRouter(lanes, points, seed)
    assert fast.route(hashes).tolist() == ch_lanes(hashes.tolist(), lanes, points, seed)


def test_a_new_lane_takes_keys_and_no_key_moves_between_old_ones() -> None:
    keys = np.arange(50_000, dtype=np.uint64)
    before, after = ChRouter(9, seed=2).route(keys), ChRouter(10, seed=2).route(keys)
    moved = before != after
    assert (after[moved] == 9).all()
    # A tenth in the mean; the new lane's share varies by 1/sqrt(100), so 0.03 is three deviations.
    assert moved.mean() == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize(
    ("points", "spread"),
    [pytest.param(1, 1.0, id="one point"), pytest.param(400, 0.05, id="many points")],
)
def test_more_points_even_out_the_shares(points: int, spread: float) -> None:
    # The relative deviation of 64 shares is about 1/sqrt(points); sampled from 64 lanes it is
    # itself uncertain by 1/sqrt(128) = 9 %. A third either way is more than three deviations.
    keys = np.arange(640_000, dtype=np.uint64)
    shares = np.bincount(ChRouter(64, points, seed=1).route(keys), minlength=64) / 10_000
    assert 0.67 * spread < shares.std() < 1.33 * spread


def test_a_key_past_the_last_point_belongs_to_the_first() -> None:
    # One point: whatever the position, the walk ends there.
    keys = np.arange(1000, dtype=np.uint64)
    assert not ChRouter(1, points=1).route(keys).any()


@pytest.mark.parametrize("points", [0, -3, 2.5], ids=repr)
def test_points_are_checked(points: object) -> None:
    with pytest.raises(InvalidArgument, match="points must be a whole number"):
        ChRouter(4, points)  # type: ignore[arg-type]


def test_a_ring_too_large_is_refused_before_it_is_made() -> None:
    with pytest.raises(InvalidArgument, match="points must be at most 16 for 1048576 lanes"):
        ChRouter(1 << 20)
