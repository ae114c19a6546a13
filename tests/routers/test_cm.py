"""cm against its twin and the paper's statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.cm import Cm
from tests.routers.streams import small_streams, zipf
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.cm import CmRouter
from trimtab.routers.hash import HashRouter


@given(
    windows=st.lists(small_streams(), min_size=1, max_size=3),
    lanes=st.integers(1, 20),
    choices=st.sampled_from([1, 2, 3, 5, 31]),
    cardinality=st.sampled_from(["exact", "hll"]),
    seed=st.integers(0, 99),
)
def test_fast_equals_slow(
    windows: list[NDArray[np.uint64]], lanes: int, choices: int, cardinality: str, seed: int
) -> None:
    fast = CmRouter(lanes, choices, cardinality, seed)
    slow = Cm(lanes, choices, cardinality, seed)
    for hashes in windows:
        assert fast.route(hashes).tolist() == slow.route(hashes.tolist())
        assert fast.distinct().tolist() == slow.estimates
        fast.advance()
        slow.advance()


@pytest.mark.parametrize("cardinality", ["exact", "hll"])
def test_fast_equals_slow_where_tables_grow_and_registers_fill(cardinality: str) -> None:
    # 30,000 distinct keys on 2 lanes: past the 10,240 per lane where HyperLogLog changes formula.
    hashes = np.concatenate([np.arange(30_000, dtype=np.uint64), zipf(2000, 300, 1.0, seed=1)])
    fast, slow = CmRouter(2, 2, cardinality, 3), Cm(2, 2, cardinality, 3)
    assert fast.route(hashes).tolist() == slow.route(hashes.tolist())


@pytest.mark.parametrize("choices", [2, 5])
def test_a_key_is_on_at_most_d_lanes_per_window(choices: int) -> None:
    hashes = zipf(50_000, 1000, 1.0, seed=2)
    lanes = CmRouter(32, choices, seed=4).route(hashes)
    pairs = np.unique(np.stack([hashes, lanes.astype(np.uint64)]), axis=1)
    assert np.unique(pairs[0], return_counts=True)[1].max() <= choices


def test_distinct_keys_are_level_where_tuples_are_not() -> None:
    # 10,000 keys hashed to 16 lanes are uneven by some 1/sqrt(625) = 4 %; two choices leave a few
    # keys. The top key alone, 10 % of the tuples on at most two lanes, forces
    # max/mean >= 16 x 0.05 in tuples.
    hashes = zipf(200_000, 10_000, 1.0, seed=3)
    r = CmRouter(16, seed=1)
    lanes = r.route(hashes)
    held = r.distinct()
    hashed = HashRouter(16).route(np.unique(hashes))
    assert np.ptp(held) <= 10 < np.ptp(np.bincount(hashed))
    assert np.bincount(lanes).max() / np.bincount(lanes).mean() > 1.2


def test_distinct_counts_pairs_of_key_and_lane() -> None:
    hashes = zipf(20_000, 2000, 0.8, seed=5)
    r = CmRouter(7, choices=3, seed=2)
    lanes = r.route(hashes)
    expected = [np.unique(hashes[lanes == lane]).size for lane in range(7)]
    assert r.distinct().tolist() == expected


def test_candidates_that_name_one_lane_count_the_key_once() -> None:
    r = CmRouter(1, choices=5)
    r.route(np.array([1, 2, 1, 2, 3], dtype=np.uint64))
    assert r.distinct().tolist() == [3]


def test_estimates_are_within_the_standard_error() -> None:
    # The standard error is 1.04/sqrt(4096) = 1.6 %; four of them, over eight lanes.
    hashes = np.arange(200_000, dtype=np.uint64)
    r = CmRouter(8, cardinality="hll", seed=1)
    held = np.bincount(r.route(hashes))
    assert np.abs(r.distinct() / held - 1).max() < 0.065


def test_estimating_needs_4096_bytes_per_lane_whatever_the_number_of_keys() -> None:
    def size(keys: int) -> int:
        r = CmRouter(8, cardinality="hll")
        r.route(np.arange(keys, dtype=np.uint64))
        return sum(array.nbytes for array in r.state()["arrays"].values())

    # Beside the registers there are tuple counts, past counts and estimates: 24 bytes per lane.
    assert size(10) == size(100_000) == 8 * (4096 + 24)


def test_counting_forgets_the_keys_of_a_window_that_has_ended() -> None:
    r = CmRouter(8)
    r.route(np.arange(100_000, dtype=np.uint64))
    r.advance()
    assert r.distinct().tolist() == [0] * 8
    assert r.state()["arrays"]["_seen.keys"].size == 0
    r.route(np.arange(10, dtype=np.uint64))
    r.advance()
    # The room for the next window is what the last one needed.
    assert r._seen.keys.size <= 1024


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param({"choices": 0}, "choices must be a whole number in 1..31", id="no choices"),
        pytest.param({"choices": 32}, "choices must be a whole number in 1..31", id="too many"),
        pytest.param({"cardinality": "guess"}, "'exact', 'hll'; got 'guess'", id="no such word"),
    ],
)
def test_parameters_are_checked(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        CmRouter(4, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("_distinct", np.zeros(9), id="too many lanes"),
        pytest.param("_registers", np.zeros((2, 16), dtype=np.uint8), id="too few registers"),
        pytest.param("_registers", np.full((4, 4096), 41, dtype=np.uint8), id="rank too high"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(field: str, value: NDArray[np.uint8]) -> None:
    state = CmRouter(4, cardinality="hll").state()
    state["arrays"][field] = value
    with pytest.raises(CorruptState, match="does not fit 4 lanes"):
        CmRouter.restore(state)


def test_a_table_with_more_candidates_than_there_are_is_refused() -> None:
    r = CmRouter(4)
    r.route(np.arange(5, dtype=np.uint64))
    state = r.state()
    state["arrays"]["_seen.slots"][0] = 4
    with pytest.raises(CorruptState, match="2 choices"):
        CmRouter.restore(state)
