"""The trim router against its twin, and its aims on the benchmark's grid."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.trim import Trim
from tests.routers.streams import small_streams, zipf
from trimtab import hash_keys, router
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.metrics import least_replication, max_over_mean, replication
from trimtab.workloads import drifting_zipf

WINDOW = 100_000


@settings(max_examples=150)
@given(
    hashes=small_streams(),
    lanes=st.integers(1, 9),
    split=st.booleans(),
    window=st.sampled_from([1, 7, 50, 128, 1000]),
    slack=st.sampled_from([0.01, 0.05, 0.3]),
    ends=st.lists(st.integers(0, 300), max_size=3),
)
def test_fast_equals_slow_on_small_streams(
    hashes: NDArray[np.uint64],
    lanes: int,
    split: bool,
    window: int,
    slack: float,
    ends: list[int],
) -> None:
    parameters = {"split": split, "window": window, "slack": slack, "hosts_per_lane": 3}
    fast = router("trim", lanes=lanes, **parameters)
    slow = Trim(lanes, **parameters)  # type: ignore[arg-type]
    edges = [0, *sorted(min(end, hashes.size) for end in ends), hashes.size]
    for start, end in pairwise(edges):
        expected = [slow.route(int(key)) for key in hashes[start:end]]
        assert fast.route(hashes[start:end]).tolist() == expected
        fast.advance()
        slow.advance()


@pytest.mark.parametrize(
    ("lanes", "z", "window"), [(16, 1.5, 5000), (32, 2.0, 4000), (8, 1.0, 10_000)]
)
def test_fast_equals_slow_on_skewed_streams(lanes: int, z: float, window: int) -> None:
    hashes = zipf(25_000, 2000, z, seed=lanes)
    slow = Trim(lanes, window=window, hosts_per_lane=8)
    fast = router("trim", lanes=lanes, window=window, hosts_per_lane=8)
    assert fast.route(hashes).tolist() == [slow.route(int(key)) for key in hashes]


def test_fast_equals_slow_where_more_keys_would_be_split_than_there_is_room_for() -> None:
    # 100 keys, each a twentieth of a lane, in runs: at any time one of them is all there is.
    lanes, window = 5, 20_000
    order = np.concatenate([np.random.default_rng(i).permutation(100) for i in range(4)])
    hashes = hash_keys(np.repeat(order, 100))
    slow = Trim(lanes, window=window, slack=0.001)
    fast = router("trim", lanes=lanes, window=window, slack=0.001)
    assert fast.route(hashes).tolist() == [slow.route(int(key)) for key in hashes]
    assert slow.most_pieces == 8 * lanes + 8


def per_window(
    hashes: NDArray[np.uint64], lanes: NDArray[np.int32], n: int
) -> list[tuple[float, float]]:
    """Return, for each window, max/mean - 1 and replication over the least possible."""
    results = []
    for start in range(0, hashes.size, WINDOW):
        keys, placed = hashes[start : start + WINDOW], lanes[start : start + WINDOW]
        ahead = max_over_mean(np.bincount(placed, minlength=n)) - 1
        counts = np.unique(keys, return_counts=True)[1]
        results.append((ahead, replication(keys, placed) / least_replication(counts, n) - 1))
    return results


@pytest.mark.parametrize("lanes", [8, 16, 32, 64])
@pytest.mark.parametrize("z", [0.5, 1.0, 1.5, 2.0])
def test_every_window_is_level_at_the_least_replication(z: float, lanes: int) -> None:
    hashes = zipf(5 * WINDOW, 100_000, z, seed=11)
    routed = router("trim", lanes=lanes).route(hashes)
    for ahead, more in per_window(hashes, routed, lanes)[1:]:
        assert ahead <= 0.05
        assert more <= 0.05


@pytest.mark.parametrize("lanes", [8, 64])
@pytest.mark.parametrize("z", [1.0, 1.5, 2.0])
def test_it_is_level_again_two_windows_after_the_hot_keys_change(z: float, lanes: int) -> None:
    hashes = hash_keys(drifting_zipf(6 * WINDOW, 100_000, z, every=3 * WINDOW, seed=12))
    routed = router("trim", lanes=lanes).route(hashes)
    windows = per_window(hashes, routed, lanes)
    for ahead, more in [*windows[1:3], *windows[4:6]]:
        assert ahead <= 0.05
        assert more <= 0.05


def test_a_uniform_stream_is_not_split() -> None:
    hashes = zipf(3 * WINDOW, 100_000, 0.0, seed=13)
    routed = router("trim", lanes=64).route(hashes)
    for start in range(0, hashes.size, WINDOW):
        window = slice(start, start + WINDOW)
        assert replication(hashes[window], routed[window]) == 1.0


def test_whole_keys_are_as_level_as_the_heaviest_key_lets_them_be() -> None:
    hashes = zipf(4 * WINDOW, 100_000, 1.0, seed=14)
    routed = router("trim", lanes=16, split=False).route(hashes)
    for start in range(WINDOW, hashes.size, WINDOW):
        keys, placed = hashes[start : start + WINDOW], routed[start : start + WINDOW]
        heaviest = np.unique(keys, return_counts=True)[1].max()
        floor = max(WINDOW / 16, heaviest)
        assert replication(keys, placed) == 1.0
        assert np.bincount(placed).max() <= 1.05 * floor


def test_on_a_stationary_stream_most_keys_stay_where_they_were() -> None:
    hashes = zipf(6 * WINDOW, 20_000, 1.0, seed=15)
    routed = router("trim", lanes=16).route(hashes)
    last, before = slice(5 * WINDOW, None), slice(4 * WINDOW, 5 * WINDOW)
    homes = dict(zip(hashes[before].tolist(), routed[before].tolist(), strict=True))
    stayed = [
        homes[key] == lane
        for key, lane in zip(hashes[last].tolist(), routed[last].tolist(), strict=True)
        if key in homes
    ]
    # Hot keys hop between their lanes and noise sends some new keys elsewhere; by hashing anew
    # only 1 in 16 would stay.
    assert np.mean(stayed) > 0.8


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("window", 0), ("slack", 0.0), ("slack", 1.0), ("hosts_per_lane", 0)],
)
def test_parameters_are_checked(parameter: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=f"{parameter} must be"):
        router("trim", lanes=4, **{parameter: value})


def rushes(windows: int, window: int) -> NDArray[np.uint64]:
    """Return a Zipf stream where in each window's last third two new keys have a tenth each."""
    stream = zipf(windows * window, 2000, 1.0, seed=16).reshape(windows, window)
    late = np.arange(window) >= window * 2 // 3
    for number in range(windows):
        for turn in range(2):
            taken = late & (np.arange(window) % 10 == turn)
            stream[number, taken] = np.uint64(7_000_000 + 2 * number + turn)
    return stream.ravel()


@pytest.mark.parametrize("lanes", [16, 64])
def test_a_rush_late_in_a_window_finds_lanes_enough(lanes: int) -> None:
    # A rush of 3 % of the window would fill two of 64 lanes, but finds all of them filled already.
    window = 20_000
    hashes = rushes(5, window)
    routed = router("trim", lanes=lanes, window=window).route(hashes)
    for start in range(window, hashes.size, window):
        keys, placed = hashes[start : start + window], routed[start : start + window]
        assert max_over_mean(np.bincount(placed, minlength=lanes)) <= 1.10
        counts = np.unique(keys, return_counts=True)[1]
        assert replication(keys, placed) <= 1.05 * least_replication(counts, lanes)


def test_keys_that_come_in_rushes_but_fit_a_lane_are_split_little() -> None:
    # 100 keys of 1 % each take turns in runs of 200 tuples: each fits one of 16 lanes, though at
    # the time of its run it is all there is.
    window = 100_000
    order = np.concatenate([np.random.default_rng(i).permutation(100) for i in range(20)])
    hashes = hash_keys(np.repeat(order, 200))
    routed = router("trim", lanes=16, window=window).route(hashes)
    for start in range(window, hashes.size, window):
        keys, placed = hashes[start : start + window], routed[start : start + window]
        assert max_over_mean(np.bincount(placed, minlength=16)) <= 1.10
        assert replication(keys, placed) <= 1.35


@pytest.mark.parametrize("lanes", [16, 64])
def test_the_fullest_lane_of_a_short_window_has_no_more_than_one_of_a_long_window(
    lanes: int,
) -> None:
    # Lanes may be ahead by a quarter of what is missing: at half of the length, by a quarter of it.
    hashes = rushes(8, 20_000)
    r = router("trim", lanes=lanes)
    for part in (0.1, 0.3, 0.5, 0.8):
        r.route(hashes[:40_000])
        r.advance()
        short = r.route(hashes[60_000 : 60_000 + int(part * 40_000)])
        r.advance()
        assert np.bincount(short).max() <= 1.05 * 40_000 / lanes


@pytest.mark.parametrize("field", ["_numbers", "_hosts", "_hot_lanes", "_hot_head"])
def test_a_state_of_another_shape_is_refused(field: str) -> None:
    r = router("trim", lanes=4)
    state = r.state()
    state["arrays"][field] = state["arrays"][field][:-1]
    with pytest.raises(CorruptState, match=f"'{field}' of shape"):
        type(r).restore(state)
