"""What every sketch promises, tried on each of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimtab.sketches
from tests.sketches.streams import HOSTILE, Hashes, small_streams, zipf
from trimtab import Histogram
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.sketches import (
    CountMin,
    CountTree,
    DriftHistogram,
    ExactCounts,
    HyperLogLog,
    LossyCounting,
    Sketch,
    SpaceSaving,
)

MAKERS: dict[str, Callable[[], Any]] = {
    "exact": ExactCounts,
    "space-saving": lambda: SpaceSaving(counters=16),
    "lossy-counting": lambda: LossyCounting(epsilon=0.05),
    "count-min": lambda: CountMin(epsilon=0.05, delta=0.1, seed=3),
    "hyperloglog": lambda: HyperLogLog(bits=6),
    "count-tree": lambda: CountTree(expected_tuples=500, expected_keys=50, budget=4),
    "drift-histogram": lambda: DriftHistogram(soft=8, hard=20, deepest=3, seed=5),
}
MERGEABLE = [name for name in MAKERS if name != "count-tree"]
HOLDS_KEYS = [name for name in MAKERS if name not in ("count-min", "hyperloglog")]

each_sketch = pytest.mark.parametrize("name", list(MAKERS))
each_stream = pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))


def same_state(one: Any, other: Any) -> bool:
    left, right = one.state(), other.state()
    arrays_left, arrays_right = left.pop("arrays"), right.pop("arrays")
    return bool(
        left == right
        and arrays_left.keys() == arrays_right.keys()
        and all(np.array_equal(arrays_left[k], arrays_right[k]) for k in arrays_left)
    )


def test_every_public_sketch_is_tried() -> None:
    public = {
        value
        for value in vars(trimtab.sketches).values()
        if isinstance(value, type) and issubclass(value, Sketch) and value is not Sketch
    }
    assert {type(make()) for make in MAKERS.values()} == public
    assert {name: make().name for name, make in MAKERS.items()} == {name: name for name in MAKERS}


@each_sketch
@each_stream
def test_hostile_streams_are_counted(name: str, stream: Hashes) -> None:
    sketch = MAKERS[name]()
    before = stream.copy()
    sketch.update(stream)
    assert np.array_equal(stream, before), "the input was changed"
    assert sketch.total == stream.size
    keys, weights = sketch.items()
    assert keys.dtype == np.uint64
    assert weights.dtype == np.float64
    assert np.unique(keys).size == keys.size
    assert np.isin(keys, stream).all()
    assert (weights >= 0).all()
    true = np.unique(stream).size
    # With 64 registers the estimate has a standard error of 13 %; the others are lower bounds.
    assert 0 <= sketch.distinct <= (true if name != "hyperloglog" else 1.5 * true)


@each_sketch
@given(stream=small_streams(), cut=st.integers(0, 400))
def test_halves_in_turn_equal_the_whole(name: str, stream: Hashes, cut: int) -> None:
    whole, halves = MAKERS[name](), MAKERS[name]()
    whole.update(stream)
    halves.update(stream[:cut])
    halves.update(stream[cut:])
    assert same_state(whole, halves)


@each_sketch
def test_a_restored_sketch_goes_on_where_the_first_one_stood(name: str) -> None:
    stream = zipf(6000, 700, 0.8)
    first = MAKERS[name]()
    first.update(stream[:2500])
    state = first.state()
    json.dumps({key: value for key, value in state.items() if key != "arrays"})
    assert all(type(array) is np.ndarray for array in state["arrays"].values())
    second = type(first).restore(state)
    assert same_state(first, second)
    first.update(stream[2500:])
    second.update(stream[2500:])
    assert same_state(first, second)
    third = type(first).restore(state)
    third.update(stream[2500:])
    assert same_state(first, third), "the state is shared with a sketch, not a copy"


@each_sketch
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda s: "not a state", id="something else"),
        pytest.param(lambda s: {}, id="an empty dict"),
        pytest.param(lambda s: s | {"format": "trimtab.router"}, id="the state of a router"),
        pytest.param(lambda s: s | {"version": 99}, id="a newer version"),
        pytest.param(lambda s: s | {"name": "bloom"}, id="another sketch"),
        pytest.param(lambda s: s | {"parameters": {"what": 1}}, id="foreign parameters"),
        pytest.param(lambda s: s | {"parameters": None}, id="no parameters"),
        pytest.param(lambda s: s | {"arrays": {}}, id="no arrays"),
        pytest.param(lambda s: s | {"arrays": 5}, id="a number for arrays"),
        pytest.param(lambda s: s | {"values": {}}, id="no total"),
        pytest.param(
            lambda s: s | {"values": s["values"] | {"total": float("nan")}}, id="a total of nan"
        ),
        pytest.param(
            lambda s: s | {"arrays": {k: v.astype(np.float32) for k, v in s["arrays"].items()}},
            id="arrays of another type",
        ),
        pytest.param(
            lambda s: s | {"arrays": {k: v[None] for k, v in s["arrays"].items()}},
            id="arrays of another shape",
        ),
    ],
)
def test_foreign_or_damaged_state_is_refused(
    name: str, damage: Callable[[dict[str, Any]], Any]
) -> None:
    sketch = MAKERS[name]()
    sketch.update(zipf(500, 60, 1.0))
    with pytest.raises(CorruptState):
        type(sketch).restore(damage(sketch.state()))


@pytest.mark.parametrize("name", HOLDS_KEYS)
def test_a_state_with_a_key_twice_is_refused(name: str) -> None:
    sketch = MAKERS[name]()
    sketch.update(zipf(500, 60, 1.0))
    state = sketch.state()
    state["arrays"]["keys"][1] = state["arrays"]["keys"][0]
    with pytest.raises(CorruptState, match="each key once"):
        type(sketch).restore(state)


@pytest.mark.parametrize(
    ("name", "field", "index", "value"),
    [
        pytest.param("exact", "weights", 0, -1.0, id="a negative weight"),
        pytest.param("space-saving", "errors", 0, 1e9, id="an error above its counter"),
        pytest.param("lossy-counting", "counts", (0, 0), 0, id="a held key never seen"),
        pytest.param("count-min", "cells", (0, 0), np.inf, id="an endless cell"),
        pytest.param("hyperloglog", "registers", (0, 0), 60, id="a rank above all ranks"),
        pytest.param("count-tree", "order", 0, 1, id="a node filed twice"),
        pytest.param("count-tree", "nodes", (0, 1), 10**6, id="a node filed above its count"),
        pytest.param("count-tree", "nodes", (0, 0), 10**6, id="counts beyond the total"),
        pytest.param("count-tree", "nodes", (0, 5), -1, id="a move too many"),
        pytest.param("drift-histogram", "marks", 2, 3, id="a block that is no power of two"),
        pytest.param("drift-histogram", "marks", 3, 16, id="a step beyond the deepest"),
        pytest.param("drift-histogram", "marks", 1, -5000, id="a block behind the stream"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(
    name: str, field: str, index: Any, value: Any
) -> None:
    sketch = MAKERS[name]()
    sketch.update(zipf(500, 60, 1.0))
    state = sketch.state()
    state["arrays"][field][index] = value
    with pytest.raises(CorruptState, match=f"state of sketch '{name}' is damaged"):
        type(sketch).restore(state)


@each_sketch
def test_a_histogram_takes_it(name: str) -> None:
    stream = zipf(3000, 300, 1.2)
    sketch = MAKERS[name]()
    sketch.update(stream)
    histogram = Histogram.from_sketch(sketch, top=10)
    assert histogram.total == stream.size
    assert histogram.distinct >= len(histogram)
    if name in HOLDS_KEYS:
        keys, counts = np.unique(stream, return_counts=True)
        assert histogram.hashes[0] == keys[counts.argmax()]


@pytest.mark.parametrize("name", MERGEABLE)
def test_only_its_own_kind_with_equal_parameters_is_merged(name: str) -> None:
    other = HyperLogLog() if name != "hyperloglog" else ExactCounts()
    with pytest.raises(InvalidArgument, match="merges with its own kind"):
        MAKERS[name]().merge(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(SpaceSaving(4), SpaceSaving(5), id="space-saving"),
        pytest.param(LossyCounting(0.1), LossyCounting(0.2), id="lossy-counting"),
        pytest.param(CountMin(seed=1), CountMin(seed=2), id="count-min"),
        pytest.param(HyperLogLog(5), HyperLogLog(6), id="hyperloglog"),
        pytest.param(DriftHistogram(4), DriftHistogram(5), id="drift-histogram"),
    ],
)
def test_other_parameters_are_not_merged(one: Any, other: Any) -> None:
    with pytest.raises(InvalidArgument, match="parameters are equal"):
        one.merge(other)


@pytest.mark.parametrize("name", MERGEABLE)
@given(stream=small_streams(), cut=st.integers(0, 400))
def test_merging_leaves_the_parts_alone_and_knows_both(name: str, stream: Hashes, cut: int) -> None:
    left, right = MAKERS[name](), MAKERS[name]()
    left.update(stream[:cut])
    right.update(stream[cut:])
    before = left.state(), right.state()
    merged = left.merge(right)
    assert merged.total == stream.size
    merged.update(stream)
    assert merged.total == 2 * stream.size
    assert same_state(left, type(left).restore(before[0]))
    assert same_state(right, type(left).restore(before[1]))


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(np.array([[1, 2]], dtype=np.uint64), id="two dimensions"),
        pytest.param(np.array([0.5, 1.0]), id="floats"),
        pytest.param(np.array(["a"]), id="strings"),
    ],
)
@each_sketch
def test_what_is_no_key_hash_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="hashes must be"):
        MAKERS[name]().update(bad)


@pytest.mark.parametrize("name", ["exact", "space-saving", "count-min"])
@pytest.mark.parametrize(
    "weights",
    [
        pytest.param([1.0], id="too few"),
        pytest.param([1.0, -1.0], id="negative"),
        pytest.param([1.0, float("inf")], id="infinite"),
        pytest.param([1.0, float("nan")], id="nan"),
    ],
)
def test_bad_weights_are_refused(name: str, weights: list[float]) -> None:
    with pytest.raises(InvalidArgument, match="weights must be"):
        MAKERS[name]().update(np.array([1, 2], dtype=np.uint64), weights)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: SpaceSaving(0), "counters must be", id="no counters"),
        pytest.param(lambda: LossyCounting(0.0), "epsilon must be", id="no error allowed"),
        pytest.param(lambda: LossyCounting(1.5), "epsilon must be", id="more error than stream"),
        pytest.param(lambda: CountMin(epsilon=0), "epsilon must be", id="no epsilon"),
        pytest.param(lambda: CountMin(delta=1), "delta must be", id="failure allowed always"),
        pytest.param(lambda: CountMin(epsilon=1e-9), "need .* cells", id="cells beyond memory"),
        pytest.param(lambda: HyperLogLog(3), "bits must be", id="too few registers"),
        pytest.param(lambda: HyperLogLog(17), "bits must be", id="too many registers"),
        pytest.param(lambda: CountTree(0, 1), "expected_tuples must be", id="no tuples expected"),
        pytest.param(lambda: CountTree(1, 0), "expected_keys must be", id="no keys expected"),
        pytest.param(lambda: CountTree(1, 1, budget=0), "budget must be", id="no budget"),
        pytest.param(lambda: CountTree(1, 1, interval=0), "interval must be", id="no interval"),
        pytest.param(lambda: CountTree(1, 1, memory=0), "memory must be", id="no memory"),
        pytest.param(lambda: DriftHistogram(0), "soft must be", id="no counters survive"),
        pytest.param(lambda: DriftHistogram(5, hard=5), "hard must be", id="hard is not above"),
        pytest.param(lambda: DriftHistogram(deepest=21), "deepest must be", id="too deep"),
        pytest.param(lambda: DriftHistogram(fade=1.1), "fade must be", id="counts would grow"),
        pytest.param(lambda: DriftHistogram(seed=-1), "seed must be", id="a negative seed"),
    ],
)
def test_bad_parameters_are_refused_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make()
