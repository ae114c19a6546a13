from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import lossy_counting
from tests.sketches.streams import HOSTILE, Hashes, drifting, small_streams, true_counts, zipf
from trimtab.sketches import LossyCounting

EPSILONS = st.sampled_from([1.0, 0.5, 0.3, 0.1, 0.02, 0.003])
BOUND_STREAMS = {
    "Zipf 1.2": zipf(60_000, 8_000, 1.2),
    "mild skew": zipf(60_000, 8_000, 0.4),
    "no skew": zipf(60_000, 8_000, 0.0),
    "drift": drifting(60_000, 8_000, 1.5, every=15_000),
    **HOSTILE,
}


def entries(sketch: LossyCounting) -> dict[int, tuple[int, int]]:
    keys, counts = sketch.items()
    pairs = zip(counts.astype(int).tolist(), sketch.errors().astype(int).tolist(), strict=True)
    return dict(zip(keys.tolist(), pairs, strict=True))


def slow(stream: Hashes, epsilon: float) -> lossy_counting.LossyCounting:
    twin = lossy_counting.LossyCounting(epsilon)
    for key in stream.tolist():
        twin.add(key)
    return twin


@given(stream=small_streams(), epsilon=EPSILONS)
def test_fast_equals_slow(stream: Hashes, epsilon: float) -> None:
    fast = LossyCounting(epsilon)
    fast.update(stream)
    assert entries(fast) == slow(stream, epsilon).entries


@pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))
def test_fast_equals_slow_on_hostile_streams(stream: Hashes) -> None:
    fast = LossyCounting(0.004)
    fast.update(stream)
    assert entries(fast) == slow(stream, 0.004).entries


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.0015])
@pytest.mark.parametrize("stream", list(BOUND_STREAMS.values()), ids=list(BOUND_STREAMS))
def test_never_over_and_under_by_epsilon_n_at_most(stream: Hashes, epsilon: float) -> None:
    sketch = LossyCounting(epsilon)
    sketch.update(stream)
    keys, true = true_counts(stream)
    estimates = sketch.estimate(keys)
    assert (estimates <= true).all()
    assert (estimates >= true - epsilon * stream.size).all()
    assert np.isin(keys[true > epsilon * stream.size], sketch.items()[0]).all()


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(zipf(120_000, 20_000, 0.5), id="mild skew"),
        pytest.param(np.arange(120_000, dtype=np.uint64), id="all different"),
        pytest.param(drifting(120_000, 20_000, 1.0, every=10_000), id="drift"),
    ],
)
def test_it_really_prunes_and_holds_no_more_keys_than_stated(stream: Hashes) -> None:
    sketch = LossyCounting(0.01)
    most_between = 0
    for bucket, part in enumerate(np.array_split(stream, stream.size // 100), start=1):
        sketch.update(part[:-1])
        most_between = max(most_between, sketch.distinct)
        sketch.update(part[-1:])
        assert sketch.distinct <= 100 * (1 + math.log(bucket))
    assert most_between <= 100 * (1 + math.log(stream.size / 100)) + 100
    assert most_between < np.unique(stream).size / 5


def test_the_frequent_keys_are_all_found_and_none_is_far_below() -> None:
    stream = zipf(50_000, 5_000, 1.1)
    sketch = LossyCounting(0.002)
    sketch.update(stream)
    keys, true = true_counts(stream)
    found = sketch.frequent(share=0.01)
    assert np.isin(keys[true >= 0.01 * stream.size], found).all()
    assert (true[np.searchsorted(keys, found)] >= (0.01 - 0.002) * stream.size).all()


@given(left=small_streams(), right=small_streams(), epsilon=EPSILONS)
def test_merging_equals_the_slow_merge(left: Hashes, right: Hashes, epsilon: float) -> None:
    one, other = LossyCounting(epsilon), LossyCounting(epsilon)
    one.update(left)
    other.update(right)
    assert entries(one.merge(other)) == slow(left, epsilon).merge(slow(right, epsilon)).entries


def test_merging_keeps_the_bound_and_so_does_what_comes_after() -> None:
    epsilon = 0.003
    parts = np.array_split(drifting(80_000, 6_000, 0.9, every=20_000), 7)
    merged = LossyCounting(epsilon)
    for part in parts[:6]:
        local = LossyCounting(epsilon)
        local.update(part)
        merged = merged.merge(local)
    merged.update(parts[6])
    stream = np.concatenate(parts)
    keys, true = true_counts(stream)
    estimates = merged.estimate(keys)
    assert (estimates <= true).all()
    assert (estimates >= true - epsilon * stream.size).all()
