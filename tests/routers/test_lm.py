"""lm against its twin and the paper's statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.lm import Lm
from tests.routers.streams import small_streams, zipf
from trimtab.errors import InvalidArgument
from trimtab.routers.cm import CmRouter
from trimtab.routers.lm import LmRouter
from trimtab.routers.pkg import PkgRouter


@given(
    windows=st.lists(small_streams(), min_size=1, max_size=3),
    lanes=st.integers(1, 20),
    choices=st.sampled_from([1, 2, 3, 5, 31]),
    p=st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]),
    cardinality=st.sampled_from(["exact", "hll"]),
    seed=st.integers(0, 99),
)
def test_fast_equals_slow(
    windows: list[NDArray[np.uint64]],
    lanes: int,
    choices: int,
    p: float,
    cardinality: str,
    seed: int,
) -> None:
    fast = LmRouter(lanes, choices, p, cardinality, seed)
    slow = Lm(lanes, choices, p, cardinality, seed)
    for hashes in windows:
        assert fast.route(hashes).tolist() == slow.route(hashes.tolist())
        assert fast.distinct().tolist() == slow.estimates
        fast.advance()
        slow.advance()


@pytest.mark.parametrize("cardinality", ["exact", "hll"])
def test_fast_equals_slow_where_tables_grow_and_registers_fill(cardinality: str) -> None:
    # With HyperLogLog an estimate may fall as it changes formula, at about 10,240 keys per lane.
    hashes = np.concatenate([np.arange(30_000, dtype=np.uint64), zipf(2000, 300, 1.0, seed=1)])
    fast, slow = LmRouter(2, 2, 0.5, cardinality, 3), Lm(2, 2, 0.5, cardinality, 3)
    assert fast.route(hashes).tolist() == slow.route(hashes.tolist())


def test_at_the_ends_of_p_it_is_pkg_and_cm() -> None:
    hashes = zipf(20_000, 2000, 1.0, seed=2)
    tuples_only = LmRouter(16, p=1.0, seed=3).route(hashes)
    assert np.array_equal(tuples_only, PkgRouter(16, seed=3).route(hashes))
    keys_only = LmRouter(16, p=0.0, seed=3).route(hashes)
    assert np.array_equal(keys_only, CmRouter(16, seed=3).route(hashes))


def test_it_stands_between_cm_and_pkg_in_tuples_and_in_keys() -> None:
    # The hot key forces cm to an imbalance in tuples of about 1; pkg, blind to keys, leaves the
    # lanes hundreds of keys apart.
    hashes = zipf(200_000, 10_000, 1.0, seed=3)
    tuples, keys = {}, {}
    for name, r in {"cm": CmRouter(16, seed=1), "lm": LmRouter(16, seed=1)}.items():
        r.route(hashes)
        tuples[name], keys[name] = np.ptp(r.loads()), np.ptp(r.distinct())
    routed = PkgRouter(16, seed=1).route(hashes)
    held = [np.unique(hashes[routed == lane]).size for lane in range(16)]
    tuples["pkg"], keys["pkg"] = np.ptp(np.bincount(routed)), np.ptp(held)
    assert tuples["pkg"] < tuples["lm"] < tuples["cm"]
    assert keys["cm"] < keys["lm"] < keys["pkg"]


def test_a_key_is_on_at_most_d_lanes_per_window() -> None:
    hashes = zipf(50_000, 1000, 1.0, seed=2)
    lanes = LmRouter(32, choices=3, seed=4).route(hashes)
    pairs = np.unique(np.stack([hashes, lanes.astype(np.uint64)]), axis=1)
    assert np.unique(pairs[0], return_counts=True)[1].max() <= 3


def test_a_window_really_ends() -> None:
    hashes = zipf(20_000, 2000, 1.0, seed=2)
    r = LmRouter(16, seed=3)
    first = r.route(hashes)
    assert not np.array_equal(r.route(hashes), first)
    r.advance()
    assert np.array_equal(r.route(hashes), first)


@pytest.mark.parametrize("p", [-0.1, 1.5, "half", float("nan")], ids=repr)
def test_p_is_checked(p: object) -> None:
    with pytest.raises(InvalidArgument, match=r"p must be a number in \[0, 1\]"):
        LmRouter(4, p=p)  # type: ignore[arg-type]
