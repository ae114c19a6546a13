from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import exact_counts
from tests.sketches.streams import HOSTILE, Hashes, small_streams, some_weights, true_counts, zipf
from trimtab.sketches import ExactCounts


@given(stream=small_streams(), seed=st.integers(0, 100), weighted=st.booleans())
def test_fast_equals_slow(stream: Hashes, seed: int, weighted: bool) -> None:
    weights = some_weights(stream.size, seed)
    twin = exact_counts.ExactCounts()
    fast = ExactCounts()
    for key, weight in zip(stream.tolist(), weights.tolist(), strict=True):
        twin.add(key, weight if weighted else 1.0)
    fast.update(stream, weights if weighted else None)
    keys, found = fast.items()
    assert keys.tolist() == list(twin.weights), "keys are in order of first arrival"
    assert found.tolist() == list(twin.weights.values())
    assert fast.total == sum(twin.weights.values())


@pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))
def test_counts_are_exact_on_hostile_streams(stream: Hashes) -> None:
    counts = ExactCounts()
    counts.update(stream)
    keys, true = true_counts(stream)
    assert counts.estimate(keys).tolist() == true.tolist()
    assert counts.distinct == keys.size


def test_many_keys_in_many_batches_are_exact() -> None:
    stream = zipf(300_000, 60_000, 0.6)
    counts = ExactCounts()
    for part in np.array_split(stream, 17):
        counts.update(part)
    keys, true = true_counts(stream)
    assert counts.distinct == keys.size
    assert np.array_equal(counts.estimate(keys), true)
    assert counts.estimate(np.array([12345], dtype=np.uint64)).tolist() == [0.0]


@given(left=small_streams(), right=small_streams())
def test_merging_counts_both(left: Hashes, right: Hashes) -> None:
    one, other = ExactCounts(), ExactCounts()
    one.update(left)
    other.update(right)
    merged = one.merge(other)
    keys, true = true_counts(np.concatenate([left, right]))
    assert merged.estimate(keys).tolist() == true.tolist()
    assert merged.distinct == keys.size


def test_a_cleared_counter_starts_anew() -> None:
    counts = ExactCounts()
    counts.update(zipf(5000, 3000, 0.5))
    counts.clear()
    assert (counts.distinct, counts.total) == (0, 0.0)
    counts.update(np.array([3, 3], dtype=np.uint64))
    assert [part.tolist() for part in counts.items()] == [[3], [2.0]]
