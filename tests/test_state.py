from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import router, state
from trimtab.errors import CorruptState, InvalidArgument

numbers = st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | numbers | st.text(max_size=5)
arrays = st.builds(
    lambda dtype, values: np.array(values, dtype=dtype),
    st.sampled_from(["bool", "int8", "int32", "int64", "uint64", "float32", "float64"]),
    st.lists(st.integers(0, 100), max_size=6),
)
trees = st.recursive(
    leaves | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) and type(left) is type(right)


@given(st.dictionaries(st.text(max_size=4), trees, max_size=4))
def test_what_is_written_is_read_back_exactly(tree: dict[str, Any]) -> None:
    assert same(tree, state.parse(state.dump(tree)))


def test_arrays_keep_every_bit_and_their_shape() -> None:
    odd = np.array([np.nan, -0.0, np.inf, 5e-324, 1 / 3])
    read = state.parse(state.dump({"a": odd, "b": odd.reshape(1, 5).T, "c": odd.astype(">f8")}))
    assert read["a"].tobytes() == odd.tobytes()
    assert read["b"].shape == (5, 1)
    assert read["c"].dtype == np.float64
    assert read["c"].tobytes() == odd.tobytes()
    read["a"][0] = 1.0  # a state is to go on with, not to look at


@pytest.mark.parametrize("name", ["hash", "pkg", "potc", "shuffle"])
def test_a_router_goes_on_from_its_text_as_if_nothing_had_happened(name: str) -> None:
    stream = np.random.default_rng(3).zipf(1.3, 2000).astype(np.uint64)
    whole, half = router(name, lanes=5, seed=1), router(name, lanes=5, seed=1)
    expected = whole.route(stream)
    half.route(stream[:900])
    again = type(half).restore(state.parse(state.dump(half.state())))
    assert np.array_equal(again.route(stream[900:]), expected[900:])


GOOD = state.dump({"name": "pkg", "loads": np.arange(4)})


def with_head(**changes: Any) -> str:
    return json.dumps({**json.loads(GOOD), **changes})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(GOOD[:-20], "is no JSON", id="a torn file is found out"),
        pytest.param("", "is no JSON", id="an empty file is found out"),
        pytest.param("[1, 2]", "holds 'list'", id="other JSON is not taken for a state"),
        pytest.param('{"format": "trimtab.plan"}', "trimtab.plan", id="a plan is not a state"),
        pytest.param(with_head(version=2), "version 2", id="a newer version is refused"),
        pytest.param(with_head(version=None), "version None", id="a version must be there"),
        pytest.param(GOOD.replace("pkg", "pkh"), "checksum", id="an edited body is found out"),
        pytest.param(with_head(body=None), "checksum", id="a missing body is found out"),
    ],
)
def test_damaged_foreign_and_newer_texts_are_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(CorruptState, match=r"somewhere\.json") as refusal:
        state.parse(text, "somewhere.json")
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    "array",
    [
        pytest.param({"dtype": "|O", "shape": [1], "base64": "AAAAAAAAAAA="}, id="objects"),
        pytest.param({"dtype": "<i8", "shape": [2], "base64": "AAAAAAAAAAA="}, id="a wrong shape"),
        pytest.param({"dtype": "<i8", "shape": [1], "base64": "AAA*"}, id="no base64"),
        pytest.param({"dtype": "<i8"}, id="no data"),
    ],
)
def test_arrays_that_nobody_wrote_are_refused_even_under_a_right_checksum(
    array: dict[str, Any],
) -> None:
    body = json.dumps({"a": {"__array__": array}})
    with pytest.raises(CorruptState, match="somewhere is damaged"):
        state.parse(with_head(body=body, checksum=state._checksum(body)), "somewhere")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param([1], "is a dict", id="a list"),
        pytest.param({"a": np.array(["x"])}, "state.a is an array of <U1", id="an array of text"),
        pytest.param({"a": [object()]}, r"state.a\[0\] is of type object", id="an object"),
        pytest.param({"a": float("nan")}, "state.a is nan", id="a bare NaN"),
        pytest.param({1: 2}, "has a field 1", id="a field that is no string"),
        pytest.param({"__array__": 2}, "has a field '__array__'", id="the mark of arrays"),
    ],
)
def test_what_cannot_be_held_is_refused_when_it_is_written(given: Any, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        state.dump(given)
