from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import count_tree
from tests.sketches.streams import HOSTILE, Hashes, small_streams, true_counts, zipf
from trimtab.errors import InvalidArgument
from trimtab.sketches import CountTree, ExactCounts, sorted_counts


def pairs(batch: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    return list(zip(batch[0].tolist(), batch[1].tolist(), strict=True))


@given(
    stream=small_streams(),
    tuples=st.integers(1, 600),
    keys=st.integers(1, 100),
    budget=st.integers(1, 9),
)
def test_fast_equals_slow(stream: Hashes, tuples: int, keys: int, budget: int) -> None:
    twin = count_tree.CountTree(tuples, keys, budget, None)
    for key in stream.tolist():
        twin.add(key)
    fast = CountTree(tuples, keys, budget)
    fast.update(stream)
    assert pairs(fast.quasi_sorted()) == twin.quasi_sorted()
    filed, moves = fast.filed()
    assert filed.tolist() == [entry.updated for entry in twin.table.values()]
    assert moves.tolist() == [budget - entry.budget for entry in twin.table.values()]


@given(
    stream=small_streams(),
    gaps=st.integers(0, 1000),
    interval=st.integers(1, 2000),
    budget=st.integers(1, 9),
)
def test_fast_equals_slow_with_times(stream: Hashes, gaps: int, interval: int, budget: int) -> None:
    times = np.cumsum(np.random.default_rng(gaps).integers(0, 12, stream.size))
    twin = count_tree.CountTree(300, 40, budget, interval)
    for key, time in zip(stream.tolist(), times.tolist(), strict=True):
        twin.add(key, time)
    fast = CountTree(300, 40, budget, interval)
    fast.update(stream, times)
    assert pairs(fast.quasi_sorted()) == twin.quasi_sorted()


@pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))
def test_fast_equals_slow_on_hostile_streams(stream: Hashes) -> None:
    twin = count_tree.CountTree(1000, 200, 8, None)
    for key in stream.tolist():
        twin.add(key)
    fast = CountTree(1000, 200, 8)
    fast.update(stream)
    assert pairs(fast.quasi_sorted()) == twin.quasi_sorted()


def test_fast_equals_slow_where_counts_share_lists() -> None:
    """Counts above 1,024 share lists; the order among them must still be that of the counts."""
    stream = zipf(60_000, 30, 0.3)
    twin = count_tree.CountTree(60_000, 30, 200, None)
    for key in stream.tolist():
        twin.add(key)
    fast = CountTree(60_000, 30, 200)
    fast.update(stream)
    assert (fast.filed()[0] > 1024).sum() > 20
    assert pairs(fast.quasi_sorted()) == twin.quasi_sorted()


@pytest.mark.parametrize("budget", [1, 2, 8, 50])
@pytest.mark.parametrize("z", [0.0, 1.0, 2.0])
def test_counts_are_exact_and_no_key_is_moved_more_often_than_its_budget(
    budget: int, z: float
) -> None:
    stream = zipf(50_000, 4_000, z)
    tree = CountTree(50_000, 4_000, budget)
    tree.update(stream)
    keys, counts = tree.items()
    true_keys, true = true_counts(stream)
    order = np.argsort(keys)
    assert np.array_equal(keys[order], true_keys)
    assert np.array_equal(counts[order], true)
    filed, moves = tree.filed()
    assert moves.max() <= budget
    assert (filed >= 1).all()
    assert (filed <= counts).all()


def test_the_list_falls_by_filed_counts() -> None:
    stream = zipf(50_000, 4_000, 1.0)
    tree = CountTree(50_000, 4_000)
    tree.update(stream)
    keys, _ = tree.items()
    filed = dict(zip(keys.tolist(), tree.filed()[0].tolist(), strict=True))
    along = [filed[key] for key in tree.quasi_sorted()[0].tolist()]
    assert along == sorted(along, reverse=True)


def test_a_key_with_moves_left_is_less_than_one_step_behind() -> None:
    """Checked on the twin, which keeps the step by name; the kernel equals the twin."""
    stream = zipf(20_000, 2_000, 1.0)
    twin = count_tree.CountTree(20_000, 2_000, 8, None)
    for key in stream.tolist():
        twin.add(key)
    waiting = [entry for entry in twin.table.values() if entry.budget]
    assert len(waiting) > 100
    assert all(entry.current - entry.updated < entry.f_step for entry in waiting)


@pytest.mark.parametrize(
    ("budget", "most_out_of_place"), [(4, 0.15), (8, 0.06), (16, 0.03)], ids=str
)
def test_the_list_is_nearly_sorted_and_more_so_with_a_larger_budget(
    budget: int, most_out_of_place: float
) -> None:
    """Weight that stands at another rank than its own, as a share of all.

    A key is filed about every (1/budget)-th of the batch, so near neighbours may be swapped; the
    paper gives no bound. The margins are about twice what this seed gives.
    """
    stream = zipf(200_000, 10_000, 1.0)
    tree = CountTree(200_000, 10_000, budget)
    tree.update(stream)
    _, counts = tree.quasi_sorted()
    exact = np.sort(counts)[::-1]
    assert np.abs(exact - counts).sum() / counts.sum() <= most_out_of_place
    assert counts[:20].sum() >= 0.95 * exact[:20].sum()


def test_a_heartbeat_empties_it_and_later_batches_expect_the_mean_of_the_last_ones() -> None:
    tree = CountTree(10, 3, memory=2)
    assert tree.expectation() == (10.0, 3.0)
    for size, keys in ((100, 10), (300, 20), (500, 30)):
        stream = np.arange(size, dtype=np.uint64) % np.uint64(keys)
        tree.update(stream)
        assert (tree.total, tree.distinct) == (size, keys)
        hashes, counts = tree.heartbeat()
        assert sorted(hashes.tolist()) == list(range(keys))
        assert counts.sum() == size
        assert (tree.total, tree.distinct) == (0.0, 0)
    assert tree.expectation() == (400.0, 25.0)


def test_a_second_batch_is_as_a_first_one_with_its_expectation() -> None:
    first, second = zipf(3000, 200, 0.8, seed=1), zipf(3000, 200, 0.8, seed=2)
    used = CountTree(50, 5)
    used.update(first)
    used.heartbeat()
    fresh = CountTree(3000, np.unique(first).size)
    for tree in (used, fresh):
        tree.update(second)
    assert pairs(used.heartbeat()) == pairs(fresh.heartbeat())


def test_an_empty_batch_has_a_heartbeat_too() -> None:
    tree = CountTree(10, 3)
    assert pairs(tree.heartbeat()) == []
    tree.update(np.array([1, 1], dtype=np.uint64))
    assert pairs(tree.heartbeat()) == [(1, 2)]


def test_the_post_sort_is_in_exact_order() -> None:
    stream = zipf(20_000, 3_000, 1.0)
    counts = ExactCounts()
    counts.update(stream)
    keys, sorted_ = sorted_counts(counts)
    true_keys, true = true_counts(stream)
    assert np.array_equal(sorted_, np.sort(true)[::-1])
    assert np.array_equal(true[np.searchsorted(true_keys, keys)], sorted_)


@pytest.mark.parametrize(
    ("interval", "times", "message"),
    [
        pytest.param(None, [1, 2], "with an interval", id="times without an interval"),
        pytest.param(9, None, "one whole number of ticks", id="an interval without times"),
        pytest.param(9, [1], "one whole number of ticks", id="too few times"),
        pytest.param(9, [0.5, 1.5], "one whole number of ticks", id="fractions of ticks"),
        pytest.param(9, [-1, 2], "count from the batch's begin", id="before the batch"),
    ],
)
def test_bad_times_are_refused(
    interval: int | None, times: list[float] | None, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        CountTree(10, 3, interval=interval).update(np.array([1, 2], dtype=np.uint64), times)


def test_an_empty_update_of_a_timed_tree_is_allowed() -> None:
    tree = CountTree(10, 3, interval=9)
    tree.update(np.empty(0, dtype=np.uint64), [])
    assert tree.total == 0


def test_a_tree_restored_in_a_later_batch_remembers_the_past() -> None:
    stream = zipf(4000, 200, 0.8)
    tree = CountTree(50, 5)
    tree.update(stream[:2000])
    tree.heartbeat()
    tree.update(stream[2000:3000])
    other = CountTree.restore(tree.state())
    assert other.expectation() == tree.expectation()
    for each in (tree, other):
        each.update(stream[3000:])
    assert pairs(tree.heartbeat()) == pairs(other.heartbeat())
