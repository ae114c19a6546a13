from __future__ import annotations

import datasketches
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import space_saving
from tests.sketches.streams import (
    HOSTILE,
    Hashes,
    drifting,
    small_streams,
    some_weights,
    true_counts,
    zipf,
)
from trimtab.sketches import SpaceSaving
from trimtab.sketches.space_saving import _HEAPED

BOUND_STREAMS = {
    "Zipf 1.2": zipf(60_000, 8_000, 1.2),
    "mild skew": zipf(60_000, 8_000, 0.4),
    "no skew": zipf(60_000, 8_000, 0.0),
    "drift": drifting(60_000, 8_000, 1.5, every=15_000),
    **HOSTILE,
}


def counters(sketch: SpaceSaving) -> list[tuple[int, float, float]]:
    keys, weights = sketch.items()
    return list(zip(keys.tolist(), weights.tolist(), sketch.errors().tolist(), strict=True))


def slow(stream: Hashes, size: int, weights: list[float] | None = None) -> space_saving.SpaceSaving:
    twin = space_saving.SpaceSaving(size)
    for i, key in enumerate(stream.tolist()):
        twin.add(key, 1.0 if weights is None else weights[i])
    return twin


def slow_counters(twin: space_saving.SpaceSaving) -> list[tuple[int, float, float]]:
    return [(c.key, c.weight, c.error) for c in twin.counters]


@given(stream=small_streams(), size=st.integers(1, 40))
def test_fast_equals_slow(stream: Hashes, size: int) -> None:
    fast = SpaceSaving(size)
    fast.update(stream)
    assert counters(fast) == slow_counters(slow(stream, size))


@given(stream=small_streams(), size=st.integers(1, 40), seed=st.integers(0, 99))
def test_fast_equals_slow_with_weights(stream: Hashes, size: int, seed: int) -> None:
    weights = some_weights(stream.size, seed)
    fast = SpaceSaving(size)
    fast.update(stream, weights)
    assert counters(fast) == slow_counters(slow(stream, size, weights.tolist()))


@pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))
def test_fast_equals_slow_on_hostile_streams(stream: Hashes) -> None:
    fast = SpaceSaving(32)
    fast.update(stream)
    assert counters(fast) == slow_counters(slow(stream, 32))


def test_the_heap_takes_over_where_weights_are_uneven_and_changes_no_result() -> None:
    stream = zipf(4000, 900, 0.3)
    weights = np.random.default_rng(5).lognormal(0, 2, stream.size)
    fast = SpaceSaving(50)
    fast.update(stream, weights)
    assert fast._marks[_HEAPED] == 1
    assert counters(fast) == slow_counters(slow(stream, 50, weights.tolist()))


def test_unit_weights_never_need_the_heap() -> None:
    fast = SpaceSaving(50)
    fast.update(zipf(40_000, 9000, 0.3))
    assert fast._marks[_HEAPED] == 0


@pytest.mark.parametrize("size", [1, 10, 200])
@pytest.mark.parametrize("stream", list(BOUND_STREAMS.values()), ids=list(BOUND_STREAMS))
def test_the_error_is_at_most_n_over_k_and_nothing_is_underestimated(
    stream: Hashes, size: int
) -> None:
    sketch = SpaceSaving(size)
    sketch.update(stream)
    keys, true = true_counts(stream)
    estimates = sketch.estimate(keys)
    assert (estimates >= true).all()
    assert (estimates <= true + stream.size / size).all()
    assert sketch.smallest <= stream.size / size
    held, weights = sketch.items()
    assert np.isin(keys[true > stream.size / size], held).all()
    assert weights.sum() == stream.size
    exact = true[np.searchsorted(keys, held)]
    assert (weights - sketch.errors() <= exact).all()


def test_guaranteed_keys_are_all_heavy_and_the_heaviest_is_among_them() -> None:
    stream = zipf(50_000, 5_000, 1.1)
    sketch = SpaceSaving(200)
    sketch.update(stream)
    keys, true = true_counts(stream)
    found = sketch.guaranteed(share=0.02)
    assert keys[true.argmax()] in found
    assert (true[np.searchsorted(keys, found)] > 0.02 * stream.size).all()
    # Error n/200 is a quarter of the share: every key above 0.02 + 0.005 must be certain.
    assert np.isin(keys[true > 0.025 * stream.size], found).all()


@given(left=small_streams(), right=small_streams(), size=st.integers(1, 30))
def test_merging_equals_the_slow_merge(left: Hashes, right: Hashes, size: int) -> None:
    one, other = SpaceSaving(size), SpaceSaving(size)
    one.update(left)
    other.update(right)
    assert counters(one.merge(other)) == slow_counters(slow(left, size).merge(slow(right, size)))


def test_merging_keeps_the_bound_and_so_does_what_comes_after() -> None:
    parts = np.array_split(drifting(80_000, 6_000, 0.9, every=20_000), 5)
    size = 150
    merged = SpaceSaving(size)
    for part in parts[:4]:
        local = SpaceSaving(size)
        local.update(part)
        merged = merged.merge(local)
    merged.update(parts[4])
    stream = np.concatenate(parts)
    keys, true = true_counts(stream)
    estimates = merged.estimate(keys)
    assert (estimates >= true).all()
    assert (estimates <= true + stream.size / size).all()
    assert merged.items()[1].sum() <= stream.size


def test_datasketches_agrees_within_both_bounds() -> None:
    stream = zipf(40_000, 4_000, 1.1)
    ours = SpaceSaving(512)
    ours.update(stream)
    theirs = datasketches.frequent_items_sketch(9)
    for key in stream.tolist():
        theirs.update(key)
    keys, true = true_counts(stream)
    heavy = keys[true > 0.005 * stream.size]
    assert heavy.size > 10
    for key, estimate in zip(heavy.tolist(), ours.estimate(heavy).tolist(), strict=True):
        low, high = theirs.get_lower_bound(key), theirs.get_upper_bound(key)
        assert low <= estimate <= high + stream.size / 512
