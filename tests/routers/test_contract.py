"""What every router promises, tried on every name of the registry."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.described import variants
from tests.routers.streams import HOSTILE, small_streams, zipf
from trimtab import Histogram, hash_keys, router
from trimtab.errors import CorruptState, InvalidArgument, UnknownName
from trimtab.routers import ROUTERS, Router, router_class

VARIANTS = variants(map(router_class, ROUTERS))


def make(variant: str, lanes: int = 4, seed: int = 7) -> Router:
    return router(variant.split("/")[0], lanes=lanes, seed=seed, **VARIANTS[variant])


each_router = pytest.mark.parametrize("variant", list(VARIANTS))


def class_of(variant: str) -> type[Router]:
    return router_class(variant.split("/")[0])


def each_router_that_says(fact: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("variant", [v for v in VARIANTS if getattr(class_of(v), fact)])


def test_the_registry_holds_the_names_of_the_design_and_the_newer_rivals() -> None:
    names = "hash shuffle time potc pkg cm am cam lm ch bounded-ch porc cg dagreedy dalton "
    rivals = "d-choices w-choices fish flexsp "
    assert list(ROUTERS) == (names + rivals + "trim").split()


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"unknown router 'hahs'.*bounded-ch.*trim"):
        router("hahs", lanes=4)


def test_an_unknown_parameter_lists_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match=r"'pkg' has no parameter 'choises'.*choices"):
        router("pkg", lanes=4, choises=3)


@each_router
@pytest.mark.parametrize("lanes", [0, -1, 2.5, "4", None, True], ids=repr)
def test_a_bad_number_of_lanes_is_refused_at_the_call(variant: str, lanes: object) -> None:
    with pytest.raises(InvalidArgument, match="lanes must be a whole number"):
        make(variant, lanes=lanes)  # type: ignore[arg-type]


@each_router
@pytest.mark.parametrize("seed", [-1, 1.5, 2**64], ids=repr)
def test_a_bad_seed_is_refused_at_the_call(variant: str, seed: object) -> None:
    with pytest.raises(InvalidArgument, match="seed must be a whole number"):
        make(variant, seed=seed)  # type: ignore[arg-type]


@each_router
@pytest.mark.parametrize("lanes", [1, 2, 5, 64, 100])
@pytest.mark.parametrize("stream", list(HOSTILE))
def test_lanes_are_in_range_and_loads_add_up(variant: str, lanes: int, stream: str) -> None:
    hashes = HOSTILE[stream]
    before = hashes.copy()
    r = make(variant, lanes)
    routed = r.route(hashes)
    assert routed.dtype == np.int32
    assert routed.shape == hashes.shape
    assert np.array_equal(hashes, before)
    if routed.size:
        assert routed.min() >= 0
        assert routed.max() < lanes
    r.advance()
    routed = np.concatenate([routed, r.route(hashes)])
    assert np.array_equal(r.loads(), np.bincount(routed, minlength=lanes))


@each_router
def test_the_same_seed_gives_the_same_lanes(variant: str) -> None:
    hashes = zipf(3000, 200, 1.2, seed=1)
    assert np.array_equal(make(variant).route(hashes), make(variant).route(hashes))


def routed_in_pieces(r: Router, hashes: NDArray[np.uint64], cuts: list[int]) -> NDArray[np.int32]:
    edges = [0, *sorted(min(cut, hashes.size) for cut in cuts), hashes.size]
    pairs = pairwise(edges)
    return np.concatenate([r.route(hashes[a:b]) for a, b in pairs])


@each_router
@settings(max_examples=25)
@given(hashes=small_streams(), cuts=st.lists(st.integers(0, 400), max_size=3))
def test_pieces_routed_in_turn_equal_the_whole(
    variant: str, hashes: NDArray[np.uint64], cuts: list[int]
) -> None:
    whole = make(variant).route(hashes)
    assert np.array_equal(routed_in_pieces(make(variant), hashes, cuts), whole)


@each_router
@settings(max_examples=25)
@given(first=small_streams(), second=small_streams(), ended=st.booleans())
def test_a_restored_router_goes_on_as_if_nothing_had_happened(
    variant: str, first: NDArray[np.uint64], second: NDArray[np.uint64], ended: bool
) -> None:
    r = make(variant)
    r.route(first)
    if ended:
        r.advance()
        r.route(first[::2])
    state = r.state()
    json.dumps({key: value for key, value in state.items() if key != "arrays"})
    assert all(array.dtype != object for array in state["arrays"].values())
    again = type(r).restore(state)
    assert np.array_equal(again.loads(), r.loads())
    assert np.array_equal(again.route(second), r.route(second))
    again.advance()
    r.advance()
    assert np.array_equal(again.route(first), r.route(first))


@each_router
def test_what_it_expects_is_part_of_its_state_or_changes_nothing(variant: str) -> None:
    hashes = zipf(3000, 200, 1.2, seed=1)
    told, untold = make(variant), make(variant)
    told.expect(Histogram.from_hashes(hashes))
    again = type(told).restore(told.state())
    lanes = told.route(hashes)
    assert np.array_equal(again.route(hashes), lanes)
    assert np.array_equal(told.loads(), np.bincount(lanes, minlength=4))
    if not told.heeds_counts:
        assert np.array_equal(untold.route(hashes), lanes)


@each_router
def test_a_state_is_a_copy(variant: str) -> None:
    r = make(variant)
    r.route(zipf(500, 50, 1.0, seed=2))
    state = r.state()
    loads = state["arrays"]["_loads"].copy()
    r.route(zipf(500, 50, 1.0, seed=3))
    assert np.array_equal(state["arrays"]["_loads"], loads)


@each_router
def test_a_foreign_newer_or_damaged_state_is_refused(variant: str) -> None:
    r = make(variant)
    other = router("hash" if r.name != "hash" else "shuffle", lanes=4)
    damaged = r.state()
    del damaged["arrays"]["_loads"]
    for state in (
        {},
        {**r.state(), "format": "something.else"},
        {**r.state(), "version": 99},
        other.state(),
        damaged,
    ):
        with pytest.raises(CorruptState):
            type(r).restore(state)


@each_router
def test_whole_keys_stay_whole_inside_a_window(variant: str) -> None:
    r = make(variant, lanes=8)
    if r.splits_keys:
        pytest.skip("this router may split keys")
    # A trim window ends by itself; inside one window no key may be on two lanes.
    hashes = zipf(5000, 300, 1.3, seed=4)
    routed = r.route(hashes)
    pairs = np.unique(np.stack([hashes, routed.astype(np.uint64)]), axis=1)
    assert pairs.shape[1] == np.unique(hashes).size


@each_router_that_says("same_lane_in_every_task")
def test_the_lane_follows_from_the_key_alone(variant: str) -> None:
    r = make(variant, lanes=8)
    r.route(zipf(5000, 300, 1.3, seed=4))
    r.advance()
    hashes = zipf(2000, 300, 0.5, seed=5)
    assert np.array_equal(r.route(hashes), make(variant, lanes=8).route(hashes))
    assert not r.splits_keys


@each_router_that_says("ignores_keys")
def test_keys_do_not_matter(variant: str) -> None:
    one, other = make(variant), make(variant)
    streams = zipf(3000, 300, 1.3, seed=4), zipf(3000, 20, 0.1, seed=5)
    assert np.array_equal(one.route(streams[0]), other.route(streams[1]))
    assert one.splits_keys


@each_router_that_says("hashes_the_tail")
def test_keys_that_come_once_are_hashed(variant: str) -> None:
    cold = hash_keys(np.arange(5000))
    assert np.array_equal(make(variant).route(cold), router("hash", lanes=4).route(cold))


@each_router
def test_a_router_can_be_made_for_micro_batches(variant: str) -> None:
    cls = class_of(variant)
    made = cls(lanes=4, **{**cls.stream_parameters, **VARIANTS[variant]})
    assert cls.stream_parameters.items() <= made.parameters().items()


@pytest.mark.parametrize(
    "hashes",
    [np.array([0.5, 1.5]), np.array(["a"]), np.zeros((2, 2), dtype=np.uint64)],
    ids=["floats", "strings", "two dimensions"],
)
def test_what_is_not_key_hashes_is_refused(hashes: NDArray[Any]) -> None:
    with pytest.raises(InvalidArgument, match="hashes must be"):
        router("hash", lanes=4).route(hashes)


def test_signed_longs_as_spark_gives_them_are_the_same_keys() -> None:
    hashes = np.array([2**63 + 5, 3, 2**64 - 1], dtype=np.uint64)
    for name in ("hash", "pkg"):
        signed = router(name, lanes=7).route(hashes.view(np.int64))
        assert np.array_equal(signed, router(name, lanes=7).route(hashes))
