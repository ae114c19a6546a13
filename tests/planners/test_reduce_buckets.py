"""The reduce-bucket allocator against its twin and the paper's statements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import reduce_buckets as twin
from trimtab import Histogram, Plan, hash_keys, planner
from trimtab.errors import InvalidArgument
from trimtab.metrics import block_size_imbalance
from trimtab.planners.reduce_buckets import allocate, allocate_block
from trimtab.workloads import zipf_ids

clusters = st.lists(
    st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 300), st.booleans()),
    max_size=60,
    unique_by=lambda cluster: cluster[0],
)


@given(block=clusters, buckets=st.integers(1, 9), first=st.integers(0, 8))
def test_a_block_equals_the_twin(
    block: list[tuple[int, int, bool]], buckets: int, first: int
) -> None:
    first %= buckets
    keys, weights, split = map(list, zip(*block, strict=True)) if block else ([], [], [])
    fast = allocate_block(np.array(keys, dtype=np.uint64), weights, split, buckets, first)
    assert fast.tolist() == twin.allocate_block(keys, weights, split, buckets, first)


@given(weights=st.lists(st.integers(1, 1000), max_size=60), buckets=st.integers(1, 9))
def test_a_bucket_waits_until_all_others_have_got_one(weights: list[int], buckets: int) -> None:
    keys = np.arange(len(weights), dtype=np.uint64)
    chosen = allocate_block(keys, weights, np.zeros(len(weights), dtype=bool), buckets)
    assert np.ptp(np.bincount(chosen, minlength=buckets)) <= 1


def prompt_plan(lanes: int, z: float) -> tuple[Plan, Histogram]:
    h = Histogram.from_hashes(hash_keys(zipf_ids(60_000, 5_000, z, seed=4)))
    return planner("prompt", lanes=lanes).plan(h), h


def test_blocks_agree_on_split_keys_without_talking() -> None:
    plan, h = prompt_plan(16, z=1.2)
    bucket = allocate(plan, h, buckets=10)
    pieces = np.diff(plan.starts)
    assert (pieces > 1).sum() > 5
    for i in np.flatnonzero(pieces > 1):
        mine = bucket[plan.starts[i] : plan.starts[i + 1]]
        assert set(mine.tolist()) == {int(plan.keys[i]) % 10}


@pytest.mark.parametrize("buckets", [4, 16])
def test_buckets_are_more_level_than_hashing_every_key(buckets: int) -> None:
    # No key is larger than a bucket of its block: what a block gets wrong no other puts right.
    plan, h = prompt_plan(8, z=0.5)
    weights = dict(zip(h.hashes.tolist(), h.weights.tolist(), strict=True))
    key_of = np.repeat(plan.keys, np.diff(plan.starts))
    sizes = np.array([weights[key] for key in key_of.tolist()]) * plan.shares
    ours = np.bincount(allocate(plan, h, buckets), sizes, buckets)
    hashed = np.bincount((key_of % np.uint64(buckets)).astype(int), sizes, buckets)
    assert ours.sum() == pytest.approx(h.total)
    assert block_size_imbalance(ours) < 0.75 * block_size_imbalance(hashed)


def test_a_key_that_the_histogram_does_not_know_weighs_nothing() -> None:
    plan = Plan(2, {1: 0, 2: 0, 3: 1})
    assert allocate(plan, Histogram.from_counts({2: 5}), 2).tolist() == [1, 0, 1]
    assert allocate(plan, Histogram.from_counts({}), 1).tolist() == [0, 0, 0]
    assert allocate(Plan(3), Histogram.from_counts({1: 2}), 4).size == 0


@pytest.mark.parametrize(
    ("weights", "split", "buckets", "message"),
    [
        ([1.0], [False, False], 2, "one weight and one split mark per key"),
        ([1.0, -1.0], [False, False], 2, "finite and >= 0"),
        ([1.0, float("nan")], [False, False], 2, "finite and >= 0"),
        ([1.0, 1.0], [False, False], 0, "buckets must be"),
    ],
)
def test_bad_blocks_are_refused(
    weights: list[float], split: list[bool], buckets: int, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        allocate_block([1, 2], weights, split, buckets)


def test_blocks_that_begin_with_different_buckets_spread_their_heaviest_keys() -> None:
    blocks = [({8 * b + k: 100 >> k for k in range(4)}, b) for b in range(4)]
    same, apart = np.zeros(4), np.zeros(4)
    for counts, number in blocks:
        keys, weights = list(counts), list(counts.values())
        for total, first in ((same, 0), (apart, number)):
            chosen = allocate_block(keys, weights, [False] * 4, 4, first)
            np.add.at(total, chosen, weights)
    assert same.tolist() == [400, 200, 100, 48]
    assert apart.tolist() == [187, 187, 187, 187]
