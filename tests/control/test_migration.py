from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Histogram, Plan
from trimtab.control.migration import trimmed

LANES = 5


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    keys: dict[int, list[tuple[int, float]]] = {}
    for key in draw(st.lists(st.integers(0, 30), unique=True, max_size=12)):
        lanes = draw(st.lists(st.integers(0, LANES - 1), unique=True, min_size=1, max_size=3))
        keys[key] = [(lane, 1 / len(lanes)) for lane in lanes]
    count = draw(st.sampled_from([1, 5, 6, 10]))
    hosts = draw(st.lists(st.integers(0, LANES - 1), min_size=count, max_size=count))
    return Plan(LANES, keys, hosts)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    counts = draw(st.dictionaries(st.integers(0, 40), st.integers(0, 100), max_size=30))
    tail = draw(st.integers(0, 200))
    return Histogram.from_counts(
        {key: float(count) for key, count in counts.items()},
        total=sum(counts.values()) + tail,
        distinct=100,
    )


@given(plans(), plans(), histograms(), st.sampled_from([0.01, 0.1, 0.3, 1.0]))
def test_a_trimmed_change_keeps_its_budget(
    running: Plan, candidate: Plan, histogram: Histogram, budget: float
) -> None:
    made = trimmed(running, candidate, histogram, budget)
    assert running.moved(made, histogram) <= budget + 1e-6
    assert made.loads(histogram).sum() == pytest.approx(histogram.total)


@given(plans(), plans(), histograms())
def test_every_key_stands_where_one_of_the_plans_has_it(
    running: Plan, candidate: Plan, histogram: Histogram
) -> None:
    made = trimmed(running, candidate, histogram, 0.2)
    for key in range(50):
        before, after = dict(running.fragments(key)), dict(candidate.fragments(key))
        found = dict(made.fragments(key))
        if not candidate.splits_keys:
            assert found in (pytest.approx(before), pytest.approx(after))
        else:
            assert set(found) <= set(before) | set(after)


def test_a_whole_key_goes_in_part_if_the_candidate_splits_others() -> None:
    histogram = Histogram.from_counts({0: 40.0, 2: 40.0, 1: 10.0, 3: 10.0})
    whole, split = Plan(2, {2: 1}), Plan(2, {2: 1, 3: [(0, 0.5), (1, 0.5)]})
    assert trimmed(Plan(2), whole, histogram, budget=0.2).fragments(2) == [(0, 1.0)]
    made = trimmed(Plan(2), split, histogram, budget=0.2)
    assert dict(made.fragments(2)) == pytest.approx({0: 0.5, 1: 0.5})


def test_a_key_that_the_candidate_splits_goes_in_part() -> None:
    histogram = Histogram.from_counts({0: 80.0, 1: 20.0})
    wanted = Plan(2, {0: [(0, 0.6), (1, 0.4)]})
    made = trimmed(Plan(2), wanted, histogram, budget=0.16)
    assert dict(made.fragments(0)) == pytest.approx({0: 0.8, 1: 0.2})


def test_the_moves_that_relieve_the_heaviest_lane_are_made_first() -> None:
    # Lane 0 is full; the candidate also shuffles the light lanes about, to no use.
    histogram = Histogram.from_counts({0: 50.0, 4: 20.0, 1: 10.0, 2: 10.0, 3: 10.0})
    wanted = Plan(4, {0: 0, 4: 3, 1: 2, 2: 1, 3: 1})
    made = trimmed(Plan(4), wanted, histogram, budget=0.2)
    assert made.loads(histogram).tolist() == [50.0, 10.0, 10.0, 30.0]


def test_a_key_that_is_no_longer_heavy_leaves_the_table_when_its_host_has_it() -> None:
    histogram = Histogram.from_counts({0: 50.0, 2: 50.0, 7: 1.0})
    running = Plan(2, {7: 1})
    made = trimmed(running, Plan(2, {2: 1}), histogram, budget=0.9)
    assert made.keys.tolist() == [2]


def test_host_tables_without_a_common_measure_are_left_alone() -> None:
    running = Plan(2, hosts=np.arange(1021) % 2)
    candidate = Plan(2, hosts=np.arange(1031) % 2)
    histogram = Histogram.from_counts({1: 5.0})
    assert trimmed(running, candidate, histogram, 0.5) is running
