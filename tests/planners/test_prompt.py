"""Prompt's partitioner against its twin, the paper's example, and the paper's statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.planners.histograms import HOSTILE
from tests.reference import prompt as twin
from trimtab import Histogram, Plan, hash_keys, planner, router
from trimtab.errors import InvalidArgument
from trimtab.metrics import key_split_ratio
from trimtab.planners.prompt import PromptPlanner
from trimtab.workloads import zipf_ids

weight_lists = st.one_of(
    st.lists(st.integers(0, 4), max_size=40),
    st.lists(st.integers(0, 1000), max_size=40),
    st.lists(st.floats(0, 1000, allow_subnormal=False), max_size=40),
    # One giant among dwarfs.
    st.builds(lambda few, big: [*few, big], st.lists(st.integers(1, 9)), st.integers(100, 10_000)),
)


def sizes_by_key(plan: Plan, histogram: Histogram) -> list[list[tuple[int, float]]]:
    weights = dict(zip(histogram.hashes.tolist(), histogram.weights.tolist(), strict=True))
    return [
        [(lane, share * weights[key]) for lane, share in plan.fragments(key)]
        for key in histogram.hashes.tolist()
    ]


def close(ours: list[list[tuple[int, float]]], theirs: list[list[tuple[int, float]]]) -> bool:
    flat = [pair for pieces in ours for pair in pieces]
    slow = [pair for pieces in theirs for pair in pieces]
    return [len(p) for p in ours] == [len(p) for p in theirs] and all(
        a == b and size == pytest.approx(other, rel=1e-9, abs=1e-9)
        for (a, size), (b, other) in zip(flat, slow, strict=True)
    )


def cardinalities(plan: Plan) -> NDArray[np.int64]:
    return np.bincount(plan.lane_of, minlength=plan.lanes)


@given(weights=weight_lists, lanes=st.integers(1, 12), tail=st.integers(0, 200))
def test_packing_equals_the_twin(weights: list[float], lanes: int, tail: int) -> None:
    h = Histogram.from_counts(
        dict(enumerate(weights)), total=sum(weights) + tail, distinct=len(weights) + tail
    )
    plan = planner("prompt", lanes=lanes).plan(h)
    slow = twin.partition(
        h.weights.tolist(), h.total, h.distinct, lanes, tail=[h.tail_weight / lanes] * lanes
    )
    assert close(sizes_by_key(plan, h), slow)


@given(weights=weight_lists, speeds=st.lists(st.integers(1, 5), min_size=1, max_size=8))
def test_packing_with_capacities_equals_the_twin(weights: list[float], speeds: list[int]) -> None:
    h = Histogram.from_counts(dict(enumerate(weights)))
    maker = PromptPlanner(lanes=len(speeds), capacities=speeds)
    slow = twin.partition(
        h.weights.tolist(), h.total, h.distinct, len(speeds), maker.capacities.tolist()
    )
    assert close(sizes_by_key(maker.plan(h), h), slow)


def test_the_example_of_figures_5_and_6() -> None:
    # The text gives 385 tuples, 8 keys, 4 blocks, and what comes out. The counts are ours, such
    # that first-fit decreasing splits K1, K2 and K4, as in Figure 6a.
    counts = dict(zip(range(1, 9), [140, 100, 40, 30, 30, 20, 15, 10], strict=True))
    h = Histogram.from_counts(counts)
    assert h.total == 385
    assert first_fit_decreasing(list(counts.values()), 385 / 4) == [0, 1, 3]
    plan = planner("prompt", lanes=4).plan(h)
    split = [key for key in counts if len(plan.fragments(key)) > 1]
    assert split == [1, 2], "only K1 and K2 are fragmented"
    assert sorted(plan.loads(h).tolist()) == [96, 96, 96, 97], "blocks are equal"
    assert np.ptp(cardinalities(plan)) == 1, "cardinality is almost identical"


def first_fit_decreasing(sizes: list[int], capacity: float) -> list[int]:
    """Fill block after block; give the keys that end up in more than one."""
    room, split = capacity, []
    for key, size in enumerate(sizes):
        left = float(size)
        if left > room:
            split.append(key)
        while left > room:
            left -= room
            room = capacity
        room -= left
    return split


@pytest.mark.parametrize("lanes", [8, 64])
@pytest.mark.parametrize("z", [0.5, 1.0, 1.5, 2.0])
def test_blocks_are_equal_and_few_keys_are_split_on_zipf_streams(z: float, lanes: int) -> None:
    hashes = hash_keys(zipf_ids(100_000, 20_000, z, seed=11))
    h = Histogram.from_hashes(hashes)
    plan = planner("prompt", lanes=lanes).plan(h)
    assert np.ptp(plan.loads(h)) <= 1 + 1e-6
    shuffled = router("shuffle", lanes=lanes, seed=1).route(hashes)
    ours, theirs = plan.lane_of.size / len(h), key_split_ratio(hashes, shuffled)
    # What cannot be avoided: a key with the share of m lanes needs m fragments.
    least = np.maximum(1, np.ceil(h.shares * lanes)).sum() / len(h)
    assert ours - 1 < 0.06 * (theirs - 1)
    assert ours <= least + 0.08
    counts = cardinalities(plan)
    assert counts.max() <= 1.2 * counts.mean() + 2, "cardinality is balanced"
    # Routing by row hash meets the shares within binomial noise: 5 standard deviations.
    rows = hash_keys(np.arange(hashes.size))
    got = np.bincount(plan.route(hashes, rows), minlength=lanes)
    mean = hashes.size / lanes
    assert np.abs(got - mean).max() < 5 * np.sqrt(mean)


@pytest.mark.parametrize("z", [0.1, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0])
def test_blocks_have_more_even_numbers_of_keys_than_shuffled_ones(z: float) -> None:
    """Figure 10: block cardinality imbalance (Equation 4), at every exponent."""
    hashes = hash_keys(zipf_ids(100_000, 10_000, z, seed=1))
    plan = planner("prompt", lanes=16).plan(Histogram.from_hashes(hashes))
    shuffled = router("shuffle", lanes=16).route(hashes)
    placed = np.unique(np.stack([hashes, shuffled.astype(np.uint64)]), axis=1)[1]
    theirs = np.bincount(placed.astype(np.int64), minlength=16)
    ours = cardinalities(plan)
    assert ours.max() - ours.mean() <= 0.25 * (theirs.max() - theirs.mean())


@pytest.mark.parametrize("name", HOSTILE)
def test_lanes_get_even_shares_whatever_the_histogram(name: str) -> None:
    h = HOSTILE[name]
    loads = planner("prompt", lanes=7).plan(h).loads(h)
    if name != "hosts measured":  # there the tail alone, which is not split, overfills lanes
        assert np.ptp(loads) <= 1 + 1e-6 * h.total


@pytest.mark.parametrize("keys", [1, 2, 3, 7])
def test_fewer_keys_than_blocks_leave_no_block_empty(keys: int) -> None:
    h = Histogram.from_counts(dict.fromkeys(range(keys), 800))
    plan = planner("prompt", lanes=8).plan(h)
    assert np.ptp(plan.loads(h)) <= 1
    assert plan.lane_of.size <= keys + 8


def test_a_lane_with_twice_the_capacity_gets_twice_the_weight_and_keys() -> None:
    h = Histogram.from_hashes(hash_keys(zipf_ids(50_000, 5_000, 0.8, seed=5)))
    plan = planner("prompt", lanes=4, capacities=[1, 2, 1, 4]).plan(h)
    assert np.abs(plan.loads(h) - h.total * np.array([1, 2, 1, 4]) / 8).max() <= 1
    counts = cardinalities(plan)
    assert counts[1] / counts[0] == pytest.approx(2, rel=0.15)
    assert counts[3] / counts[0] == pytest.approx(4, rel=0.15)


def test_a_tail_goes_to_hosts_by_capacity_and_known_keys_fill_up() -> None:
    h = Histogram.from_counts({k: 100 - k for k in range(50)}, total=10_000, distinct=5_000)
    plan = planner("prompt", lanes=4, capacities=[1, 2, 1, 4]).plan(h)
    assert np.bincount(plan.hosts).tolist() == [50, 100, 50, 200]
    assert plan.loads(h) == pytest.approx(h.total * np.array([1, 2, 1, 4]) / 8, rel=1e-3)


def test_known_keys_make_up_for_a_measured_tail_that_is_uneven() -> None:
    hosts = np.array([900.0, 100.0, 0.0, 0.0])
    counts = dict.fromkeys(range(120), 25.0)
    for key, weight in counts.items():
        hosts[key % 4] += weight
    h = Histogram.from_counts(counts, total=4000, distinct=500, host_weights=hosts)
    assert planner("prompt", lanes=4).plan(h).loads(h).tolist() == [1000.0] * 4


def test_weights_may_be_in_any_unit() -> None:
    counts = dict(enumerate(1.0 / np.arange(1, 200)))
    for unit, scale in (("seconds", 1e-6), ("bytes", 1e12)):
        h = Histogram.from_counts({k: w * scale for k, w in counts.items()}, unit=unit)
        loads = planner("prompt", lanes=8).plan(h).loads(h)
        assert loads == pytest.approx(np.full(8, h.total / 8))


def test_capacities_must_be_one_positive_number_per_lane() -> None:
    with pytest.raises(InvalidArgument, match="capacities must be 3 positive numbers"):
        planner("prompt", lanes=3, capacities=[1, 0, 1])
