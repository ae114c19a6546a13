"""hash, shuffle, time, potc and pkg against their twins and the papers' statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference import simple_routers as twins
from tests.routers.streams import small_streams, zipf
from trimtab import router
from trimtab.errors import InvalidArgument

lane_counts = st.integers(1, 20)


@given(hashes=small_streams(), lanes=lane_counts, seed=st.integers(0, 99), d=st.integers(1, 6))
def test_fast_equals_slow(hashes: NDArray[np.uint64], lanes: int, seed: int, d: int) -> None:
    keys = hashes.tolist()
    made = {
        "hash": (router("hash", lanes=lanes), twins.hash_lanes(keys, lanes)),
        "shuffle": (
            router("shuffle", lanes=lanes, seed=seed),
            twins.shuffle_lanes(keys, lanes, seed),
        ),
        "time": (
            router("time", lanes=lanes, interval=120),
            twins.time_lanes(keys, lanes, 120),
        ),
        "potc": (
            router("potc", lanes=lanes, choices=d, seed=seed),
            twins.potc_lanes(keys, lanes, d, seed),
        ),
        "pkg": (
            router("pkg", lanes=lanes, choices=d, seed=seed),
            twins.pkg_lanes(keys, lanes, d, seed),
        ),
    }
    for name, (fast, slow) in made.items():
        assert fast.route(hashes).tolist() == slow, name


@given(hashes=small_streams(), lanes=lane_counts, seed=st.integers(0, 99), d=st.integers(1, 6))
def test_fast_equals_slow_in_a_second_batch(
    hashes: NDArray[np.uint64], lanes: int, seed: int, d: int
) -> None:
    keys = hashes.tolist()
    potc = router("potc", lanes=lanes, choices=d, seed=seed)
    pkg = router("pkg", lanes=lanes, choices=d, seed=seed)
    for number in range(2):
        drawn = twins.potc_lanes(keys, lanes, d, seed, first=number * len(keys))
        assert potc.route(hashes).tolist() == drawn
        assert pkg.route(hashes).tolist() == twins.pkg_lanes(keys, lanes, d, seed)
        potc.advance()
        pkg.advance()


def imbalance(loads: NDArray[np.int64]) -> float:
    return float(loads.max() / loads.mean() - 1)


def test_shuffle_is_level_to_one_tuple() -> None:
    r = router("shuffle", lanes=7, seed=3)
    r.route(zipf(10_001, 500, 1.5, seed=1))
    assert r.loads().max() - r.loads().min() <= 1


@pytest.mark.parametrize("choices", [2, 5])
def test_pkg_uses_at_most_d_lanes_per_key(choices: int) -> None:
    hashes = zipf(50_000, 1000, 1.0, seed=2)
    lanes = router("pkg", lanes=32, choices=choices, seed=4).route(hashes)
    pairs = np.unique(np.stack([hashes, lanes.astype(np.uint64)]), axis=1)
    _, per_key = np.unique(pairs[0], return_counts=True)
    assert per_key.max() <= choices


def test_pkg_beats_hash() -> None:
    # 8 lanes, z = 1: the top share is 0.083 < 2/8, so two choices can level it; hash cannot be
    # below lanes x top share - 1 and in practice is far above. A factor of ten is a wide margin.
    hashes = zipf(200_000, 100_000, 1.0, seed=3)
    loads = {}
    for name in ("pkg", "hash"):
        r = router(name, lanes=8, seed=1)
        r.route(hashes)
        loads[name] = imbalance(r.loads())
    assert loads["pkg"] < loads["hash"] / 10


def test_pkg_explodes_once_the_top_key_exceeds_two_lanes() -> None:
    # z = 1.5: the top share is 0.384. Up to 5 lanes 2 / lanes > 0.384 and PKG can be level; at 64
    # lanes two lanes carry half of 0.384 each: max/mean >= 64 x 0.192 = 12.3.
    hashes = zipf(200_000, 100_000, 1.5, seed=5)
    few, many = router("pkg", lanes=4, seed=1), router("pkg", lanes=64, seed=1)
    few.route(hashes)
    many.route(hashes)
    assert imbalance(few.loads()) < 0.05
    assert imbalance(many.loads()) > 10


def test_potc_stays_level_whatever_the_keys() -> None:
    # log log 64 / log 2 is about 2: a dozen tuples above the mean is a wide margin.
    r = router("potc", lanes=64, seed=1)
    r.route(zipf(100_000, 1000, 2.0, seed=6))
    assert r.loads().max() - r.loads().mean() <= 12


def test_time_blocks_follow_the_rate() -> None:
    r = router("time", lanes=4, interval=100)
    times = np.concatenate([np.repeat(np.arange(25), 3), np.arange(25, 100)])
    lanes = r.route(np.zeros(times.size, dtype=np.uint64), times=times)  # type: ignore[call-arg]
    assert np.bincount(lanes).tolist() == [75, 25, 25, 25]
    r.advance()
    with pytest.raises(InvalidArgument, match="times must be ticks"):
        r.route(np.zeros(3, dtype=np.uint64), times=[1, 2])  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["pkg", "potc"])
@pytest.mark.parametrize("choices", [0, -1, 65, 1.5])
def test_choices_are_checked(name: str, choices: object) -> None:
    with pytest.raises(InvalidArgument, match="choices must be a whole number"):
        router(name, lanes=4, choices=choices)
