from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference import metrics as slow
from trimtab import metrics
from trimtab.errors import InvalidArgument

Stream = tuple[list[int], list[int], int]

KEYS = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)


@st.composite
def streams(draw: st.DrawFn, smallest: int = 0) -> Stream:
    n = draw(st.integers(1, 9))
    tuples = draw(st.lists(st.tuples(KEYS, st.integers(0, n - 1)), min_size=smallest, max_size=60))
    return [key for key, _ in tuples], [lane for _, lane in tuples], n


def hashes(keys: list[int]) -> NDArray[np.uint64]:
    return np.array(keys, dtype=np.uint64)


@given(streams())
def test_the_summary_equals_the_formulas(stream: Stream) -> None:
    keys, lanes, n = stream
    fast = metrics.costs(hashes(keys), lanes, n, p=0.3)
    load = slow.loads(lanes, n)
    cards = [len(held) for held in slow.key_sets(keys, lanes, n)]
    hybrid = slow.hybrid(keys, lanes, n, 0.3)
    mean = len(keys) / n
    heaviest = max((keys.count(key) for key in set(keys)), default=0)
    expected = {
        "tuples": len(keys),
        "keys": len(set(keys)),
        "max_over_mean": max(load) / mean if keys else 1.0,
        "imbalance": slow.spread(load),
        "coefficient_of_variation": float(np.std(load)) / mean if keys else 0.0,
        "cardinality_imbalance": slow.spread(cards),
        "hybrid_imbalance": max(hybrid) - sum(hybrid) / n,
        "utilisation_imbalance": slow.spread(load),
        "key_split_ratio": slow.split_ratio(keys, lanes, n),
        "micro_batch_imbalance": slow.partitioning_imbalance(keys, lanes, n),
        "aggregation_cost": sum(cards),
        "replication": slow.split_ratio(keys, lanes, n),
        "widest_key": slow.widest(keys, lanes),
        "lower_bound": max(mean, heaviest),
        "least_replication": slow.least_replication(keys, n),
    }
    summary = json.loads(json.dumps(fast.to_dict()))
    assert summary.pop("loads") == load
    assert summary.pop("cardinalities") == cards
    assert summary == pytest.approx(expected)


@given(streams())
def test_single_costs_equal_the_formulas(stream: Stream) -> None:
    keys, lanes, n = stream
    fragments = sum(len(held) for held in slow.key_sets(keys, lanes, n))
    assert metrics.replicas(hashes(keys), lanes) == fragments
    assert metrics.aggregation_cost(hashes(keys), lanes) == fragments
    ratio = slow.split_ratio(keys, lanes, n)
    assert metrics.replication(hashes(keys), lanes) == pytest.approx(ratio)
    assert metrics.key_split_ratio(hashes(keys), lanes) == pytest.approx(ratio)
    cards = metrics.lane_cardinalities(hashes(keys), lanes, n)
    assert cards.tolist() == [len(held) for held in slow.key_sets(keys, lanes, n)]


@given(streams(), st.integers(0, 2**32))
def test_moved_weight_equals_the_pairs_that_travel(stream: Stream, seed: int) -> None:
    keys, before, n = stream
    after = np.random.default_rng(seed).integers(0, n, len(keys)).tolist()
    assert metrics.moved_weight(hashes(keys), before, after) == pytest.approx(
        slow.moved(keys, before, after)
    )


@given(streams(smallest=1), st.lists(st.floats(0.1, 10), min_size=9, max_size=9))
def test_utilisation_equals_the_formula(stream: Stream, capacity: list[float]) -> None:
    _, lanes, n = stream
    load = slow.loads(lanes, n)
    assert metrics.utilisation_imbalance(load, capacity[:n]) == pytest.approx(
        slow.utilisation_spread(load, capacity[:n])
    )


@given(streams(smallest=1))
def test_aggregation_lies_within_proposition_one(stream: Stream) -> None:
    keys, lanes, n = stream
    cost = metrics.aggregation_cost(hashes(keys), lanes)
    assert len(set(keys)) <= cost <= n * len(set(keys))


def test_pairs_are_counted_right_when_both_tables_grow() -> None:
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 3000, 40_000).astype(np.uint64) * np.uint64(2**40)
    lanes = rng.integers(0, 100, keys.size)
    pairs = {(int(key), int(lane)) for key, lane in zip(keys, lanes, strict=True)}
    assert metrics.replicas(keys, lanes) == len(pairs)
    assert metrics.costs(keys, lanes, 100).keys == len(set(keys.tolist()))


def test_weights_count_instead_of_tuples() -> None:
    keys = np.array([1, 1, 2], dtype=np.uint64)
    found = metrics.costs(keys, [0, 1, 1], 2, weights=[5.0, 1.0, 2.0])
    assert found.loads.tolist() == [5.0, 3.0]
    assert found.lower_bound == 6.0
    assert metrics.moved_weight(keys, [0, 0, 1], [0, 0, 0], weights=[5, 1, 2]) == 0.25


def test_capacities_make_a_strong_lane_level_at_more_load() -> None:
    assert metrics.max_over_mean([30, 10], capacities=[3, 1]) == 1.0
    assert metrics.max_over_mean([20, 20], capacities=[3, 1]) == 2.0


def test_split_keys_that_trade_places_move_nothing() -> None:
    keys = np.full(4, 9, dtype=np.uint64)
    assert metrics.moved_weight(keys, [0, 1, 0, 1], [1, 0, 1, 0]) == 0.0


def test_least_replication_counts_unknown_keys_as_whole() -> None:
    # 60 of 100 on 4 lanes needs three of them; nine unknown keys stay whole.
    assert metrics.least_replication([60], 4, total=100, distinct=10) == 12 / 10


def test_lower_bound_knows_of_a_tail() -> None:
    assert metrics.lower_bound([10.0], 4, total=100) == 25.0
    assert metrics.lower_bound([], 4) == 0.0


WRONG: list[Any] = [
    pytest.param(lambda: metrics.imbalance([]), "one number per lane", id="no lanes"),
    pytest.param(lambda: metrics.max_over_mean([[1]]), "one number per lane", id="a matrix"),
    pytest.param(
        lambda: metrics.replicas(hashes([1]), [0, 1]), "one per tuple", id="lengths differ"
    ),
    pytest.param(
        lambda: metrics.costs(hashes([1]), [3], 3), "in 0..2", id="a lane that does not exist"
    ),
    pytest.param(lambda: metrics.replicas(hashes([1]), [-1]), "0 or more", id="a negative lane"),
    pytest.param(lambda: metrics.replicas(hashes([1]), [0.5]), "whole numbers", id="half a lane"),
    pytest.param(
        lambda: metrics.micro_batch_imbalance([1], [1], 1.0, (1, 1, 1)), "add up", id="MPI shares"
    ),
    pytest.param(lambda: metrics.hybrid_load([1], [1, 2]), "one per lane", id="hybrid lengths"),
    pytest.param(lambda: metrics.hybrid_load([1], [1], p=2), "p must be", id="p above one"),
    pytest.param(
        lambda: metrics.utilisation_imbalance([1, 1], [0, 1]), "positive", id="no capacity"
    ),
    pytest.param(
        lambda: metrics.moved_weight(hashes([1]), [0], [0, 1]), "one length", id="moved lengths"
    ),
    pytest.param(
        lambda: metrics.costs(hashes([1]), [0], 1, weights=[1, 2]), "weights", id="too many weights"
    ),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_bad_input_is_refused_in_a_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()
