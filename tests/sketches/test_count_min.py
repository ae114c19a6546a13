from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import count_min
from tests.sketches.streams import HOSTILE, Hashes, small_streams, some_weights, true_counts, zipf
from trimtab.sketches import CountMin


@given(
    stream=small_streams(),
    epsilon=st.sampled_from([0.5, 0.1, 0.02]),
    delta=st.sampled_from([0.5, 0.1, 0.001]),
    seed=st.integers(0, 2**64 - 1),
    weighted=st.booleans(),
)
def test_fast_equals_slow(
    stream: Hashes, epsilon: float, delta: float, seed: int, weighted: bool
) -> None:
    weights = some_weights(stream.size, seed % 100)
    twin = count_min.CountMin(epsilon, delta, seed)
    after_each = []
    for key, weight in zip(stream.tolist(), weights.tolist(), strict=True):
        twin.add(key, weight if weighted else 1.0)
        after_each.append(twin.estimate(key))
    together, apart = CountMin(epsilon, delta, seed), CountMin(epsilon, delta, seed)
    given_weights = weights if weighted else None
    assert together.add_and_estimate(stream, given_weights).tolist() == after_each
    apart.update(stream, given_weights)
    for fast in (together, apart):
        assert fast._cells.tolist() == twin.rows
        assert fast.estimate(stream).tolist() == [twin.estimate(key) for key in stream.tolist()]
        assert fast.total == sum(twin.rows[0])


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 0.5), (0.01, 0.1), (0.001, 0.01), (0.0005, 1e-6)]
)
def test_the_size_follows_from_the_error(epsilon: float, delta: float) -> None:
    sketch = CountMin(epsilon, delta)
    assert math.e / epsilon <= sketch.width < math.e / epsilon + 1
    assert math.log(1 / delta) <= sketch.rows < math.log(1 / delta) + 1


@pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))
def test_nothing_is_underestimated_on_hostile_streams(stream: Hashes) -> None:
    sketch = CountMin(0.2, 0.3)
    sketch.update(stream)
    keys, true = true_counts(stream)
    assert (sketch.estimate(keys) >= true).all()
    assert sketch.distinct <= keys.size


@pytest.mark.parametrize("z", [0.0, 0.5, 1.0])
def test_at_most_a_share_delta_of_the_keys_is_beyond_the_error(z: float) -> None:
    """Each of 20,000 keys fails with probability delta at most, so fewer than delta of them do.

    Row by row Markov's inequality gives 1/e; what is observed is far smaller, hence the plain
    comparison has ample room.
    """
    stream = zipf(100_000, 20_000, z)
    keys, true = true_counts(stream)
    for seed in range(5):
        sketch = CountMin(epsilon=0.002, delta=0.05, seed=seed)
        sketch.update(stream)
        excess = sketch.estimate(keys) - true
        assert (excess >= 0).all()
        assert (excess > 0.002 * stream.size).mean() <= 0.05
        assert excess.max() > 0, "without any collision the test would show nothing"


def test_rows_disagree_about_collisions() -> None:
    """Two keys that share a cell in one row are apart in others.

    With 28 cells and 7 rows a pair shares six or more with probability 7/28^6; over 19,900 pairs
    that is 0.0003.
    """
    sketch = CountMin(epsilon=0.1, delta=0.001)
    rows = range(sketch.rows)
    places = np.array([[_place(sketch, key, row) for row in rows] for key in range(200)])
    shared = (places[:, None, :] == places[None, :, :]).sum(axis=2)
    np.fill_diagonal(shared, 0)
    assert shared.max() <= 5


def _place(sketch: CountMin, key: int, row: int) -> int:
    one = CountMin(sketch.epsilon, sketch.delta, sketch.seed)
    one.update(np.array([key], dtype=np.uint64))
    return int(one._cells[row].argmax())


@given(left=small_streams(), right=small_streams())
def test_merging_equals_one_sketch_of_all(left: Hashes, right: Hashes) -> None:
    one, other, both = CountMin(0.1, 0.1), CountMin(0.1, 0.1), CountMin(0.1, 0.1)
    one.update(left)
    other.update(right)
    both.update(np.concatenate([left, right]))
    assert np.array_equal(one.merge(other)._cells, both._cells)


def test_a_cleared_sketch_starts_anew() -> None:
    sketch = CountMin(0.1, 0.1)
    sketch.update(zipf(500, 60, 1.0))
    sketch.clear()
    assert (sketch.total, sketch.distinct) == (0.0, 0)
