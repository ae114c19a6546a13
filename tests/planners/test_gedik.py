"""Scan, Redist and Readj against their twins and the paper's statements about them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planners.histograms import flat_law, stream
from tests.reference import gedik as twins
from trimtab import Histogram, Plan, planner
from trimtab.errors import InvalidArgument
from trimtab.metrics import max_over_mean
from trimtab.planners._previous import lanes_before

NAMES = ("scan", "redist", "readj")
each_planner = pytest.mark.parametrize("name", NAMES)


@each_planner
@given(
    weights=st.lists(st.integers(0, 60), max_size=14),
    lanes=st.integers(1, 6),
    theta=st.sampled_from([0.05, 0.2, 1.0]),
    data=st.data(),
)
def test_placing_equals_the_twin(
    name: str, weights: list[int], lanes: int, theta: float, data: st.DataObject
) -> None:
    h = Histogram.from_counts(dict(enumerate(weights)), total=sum(weights) + 50, distinct=90)
    lane = st.integers(0, lanes - 1)
    before = Plan(lanes, {key: data.draw(lane) for key in range(len(weights))}, [*range(lanes)])
    old = lanes_before(before, h.hashes).tolist()
    plan = planner(name, lanes=lanes, theta=theta, heavy_per_lane=20).plan(h, before)
    placed = lanes_before(plan, h.hashes).tolist()
    expected = old
    if sum(weights):
        expected = getattr(twins, name)(h.weights.tolist(), old, lanes, theta)
    assert placed == expected
    assert plan.hosts.tolist() == before.hosts.tolist()


@pytest.fixture(scope="module")
def batch() -> Histogram:
    return Histogram.from_hashes(stream(flat_law(), 1, seed=3)[0])


@each_planner
def test_tracked_keys_come_out_far_more_level_than_hashed(name: str, batch: Histogram) -> None:
    tracked = Histogram.from_counts((batch.hashes[:40], batch.weights[:40]))
    plan = planner(name, lanes=20).plan(batch.top(40), Plan(20))
    assert max_over_mean(plan.loads(tracked)) < 0.6 * max_over_mean(Plan(20).loads(tracked))


@each_planner
def test_the_tail_stays_where_it_is(name: str, batch: Histogram) -> None:
    plan = planner(name, lanes=20).plan(batch.top(40), Plan(20))
    assert plan.hosts.tolist() == list(range(20))
    assert set(plan.keys.tolist()) == set(batch.hashes[:40].tolist())


@each_planner
def test_keys_that_are_no_longer_tracked_go_back_to_the_ring(name: str) -> None:
    maker = planner(name, lanes=3, heavy_per_lane=1)
    first = maker.plan(Histogram.from_counts({1: 9, 2: 8, 4: 7}))
    second = maker.plan(Histogram.from_counts({7: 9, 8: 8, 10: 7}), first)
    assert second.keys.tolist() == [7, 8, 10]
    assert second.hosts.tolist() == first.hosts.tolist()


def test_a_larger_theta_moves_less(batch: Histogram) -> None:
    moved = [
        Plan(20).moved(planner("scan", lanes=20, theta=theta).plan(batch.top(40), Plan(20)), batch)
        for theta in (0.1, 1.0, 10.0, 1000.0)
    ]
    assert all(a >= b for a, b in itertools.pairwise(moved))
    assert moved[0] > moved[-1] == 0.0


def test_readj_leaves_a_level_plan_alone() -> None:
    h = Histogram.from_counts({1: 10, 2: 11, 3: 10, 4: 11})
    before = Plan(2, {1: 0, 2: 0, 3: 1, 4: 1})
    assert planner("readj", lanes=2).plan(h, before).moved(before, h) == 0.0


def test_readj_swaps_where_no_single_move_helps() -> None:
    h = Histogram.from_counts({1: 30, 2: 25, 3: 20, 4: 15})
    before = Plan(2, {1: 0, 2: 0, 3: 1, 4: 1})
    plan = planner("readj", lanes=2, theta=0.01).plan(h, before)
    assert plan.loads(h).tolist() == [45.0, 45.0]


@each_planner
def test_bad_parameters_are_refused(name: str) -> None:
    for parameters, message in (
        ({"theta": 0}, "theta must be"),
        ({"heavy_per_lane": -1}, "heavy_per_lane must be"),
        ({"replicas": 0}, "replicas must be"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            planner(name, lanes=4, **parameters)


def test_loads_are_the_same_in_any_unit(batch: Histogram) -> None:
    for name in NAMES:
        plan = planner(name, lanes=20).plan(batch.top(40))
        scaled = planner(name, lanes=20).plan(batch.top(40).scaled(2.0**-30))
        assert np.array_equal(plan.lane_of, scaled.lane_of)
