"""Mixed against its twin, and its two bounds: on load and on the routing table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planners.histograms import flat_law, stream, zipf_law
from tests.reference import mixed as twin
from trimtab import Histogram, Plan, planner
from trimtab.errors import InvalidArgument
from trimtab.metrics import max_over_mean
from trimtab.planners._previous import lanes_before


@given(
    weights=st.lists(st.integers(0, 60), max_size=20),
    lanes=st.integers(1, 6),
    theta=st.sampled_from([0.0, 0.1, 0.5]),
    table_per_lane=st.integers(0, 4),
    data=st.data(),
)
def test_planning_equals_the_twin(
    weights: list[int], lanes: int, theta: float, table_per_lane: int, data: st.DataObject
) -> None:
    tail = 16 * lanes  # a whole number per lane, so that sums are exact in any order
    h = Histogram.from_counts(dict(enumerate(weights)), total=sum(weights) + tail, distinct=99)
    lane = st.integers(0, lanes - 1)
    listed = {key: data.draw(lane) for key in range(0, len(weights), 2)}
    before = Plan(lanes, listed)
    most = table_per_lane * lanes
    movable = [
        (key, weight)
        for i, (key, weight) in enumerate(zip(h.hashes.tolist(), h.weights.tolist(), strict=True))
        if i < most or key in listed
    ]
    fixed = [16.0] * lanes
    for key, weight in zip(h.hashes.tolist(), h.weights.tolist(), strict=True):
        if (key, weight) not in movable:
            fixed[key % lanes] += weight
    hash_lane = [key % lanes for key, _ in movable]
    # A key in force on lane 0..lanes-1, or on its hash lane.
    old = [listed.get(key, key % lanes) for key, _ in movable]
    expected = twin.mixed([w for _, w in movable], hash_lane, old, fixed, theta, most)
    maker = planner("mixed", lanes=lanes, theta=theta, table_per_lane=table_per_lane)
    # The last lane must be in use for the hosts to be taken over; one host per lane sees to it.
    plan = maker.plan(h, before)
    keys = np.array([key for key, _ in movable], dtype=np.uint64)
    assert lanes_before(plan, keys).tolist() == expected


@pytest.fixture(scope="module")
def batches() -> list[Histogram]:
    return [Histogram.from_hashes(b) for b in stream(flat_law(), 8, seed=3, swaps=40)]


@pytest.mark.parametrize("table_per_lane", [0, 1, 2, 5])
def test_the_table_never_exceeds_its_bound_on_a_drifting_stream(
    batches: list[Histogram], table_per_lane: int
) -> None:
    maker, plan = planner("mixed", lanes=20, table_per_lane=table_per_lane), Plan(20)
    for h in batches:
        plan = maker.plan(h, plan)
        assert len(plan) <= 20 * table_per_lane


def test_the_load_keeps_a_bound_that_can_be_kept(batches: list[Histogram]) -> None:
    for theta in (1.0, 0.5, 0.3):
        h = batches[0]
        plan = planner("mixed", lanes=20, theta=theta).plan(h, Plan(20))
        assert max_over_mean(plan.loads(h)) <= 1 + theta + 1e-9


def test_a_looser_bound_moves_less(batches: list[Histogram]) -> None:
    h = batches[0]
    moved = [
        Plan(20).moved(planner("mixed", lanes=20, theta=theta).plan(h, Plan(20)), h)
        for theta in (0.2, 0.5, 2.0)
    ]
    assert moved[0] > moved[1] > moved[2] == 0.0


def test_the_search_finds_a_bound_that_a_given_theta_cannot_beat_by_much(
    batches: list[Histogram],
) -> None:
    h = batches[0]
    found = max_over_mean(planner("mixed", lanes=20).plan(h, Plan(20)).loads(h))
    tried = [
        max_over_mean(planner("mixed", lanes=20, theta=theta).plan(h, Plan(20)).loads(h))
        for theta in np.linspace(0, 0.5, 26)
    ]
    assert found <= min(tried) + 0.02


def test_imbalance_lies_between_kip_and_hashing_on_zipf_streams() -> None:
    h = Histogram.from_hashes(stream(zipf_law(), 1, seed=1)[0])
    levels = {
        name: max_over_mean(planner(name, lanes=20).plan(h.top(40), Plan(20)).loads(h))
        for name in ("kip", "mixed", "hash")
    }
    assert levels["kip"] < levels["mixed"] < levels["hash"]


def test_only_keys_off_their_hash_lane_are_listed(batches: list[Histogram]) -> None:
    plan = planner("mixed", lanes=20).plan(batches[0])
    assert len(plan) > 0
    assert (lanes_before(Plan(20, hosts=plan.hosts), plan.keys) != plan.lane_of).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"theta": -0.1}, "theta must be"),
        ({"table_per_lane": -1}, "table_per_lane must be"),
        ({"replicas": 0}, "replicas must be"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        planner("mixed", lanes=4, **parameters)
