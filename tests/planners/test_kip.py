"""KIP against its twin, and the DR paper's statements about it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.planners.histograms import flat_law, stream, zipf_law
from tests.reference import kip as twin
from trimtab import Histogram, Plan, planner
from trimtab.errors import InvalidArgument
from trimtab.metrics import max_over_mean
from trimtab.planners._previous import lanes_before
from trimtab.planners.kip import KipPlanner

weight_lists = st.lists(st.integers(0, 400), max_size=30)


def tail_on(histogram: Histogram, heavy: int, hosts: int) -> list[float]:
    """Return the weight of each host: an even tail, and the known keys that are not isolated."""
    weights = [histogram.tail_weight / hosts] * hosts
    for key, weight in list(
        zip(histogram.hashes.tolist(), histogram.weights.tolist(), strict=True)
    )[heavy:]:
        weights[key % hosts] += weight
    return weights


@given(
    weights=weight_lists,
    tail=st.integers(0, 3000),
    speeds=st.lists(st.integers(1, 3), min_size=1, max_size=7),
    heavy_per_lane=st.integers(0, 4),
    data=st.data(),
)
def test_an_update_equals_the_twin(
    weights: list[int], tail: int, speeds: list[int], heavy_per_lane: int, data: st.DataObject
) -> None:
    lanes = len(speeds)
    keys = data.draw(
        st.lists(
            st.integers(0, 2**64 - 1), min_size=len(weights), max_size=len(weights), unique=True
        )
    )
    h = Histogram.from_counts(
        dict(zip(keys, weights, strict=True)), total=sum(weights) + tail, distinct=5000
    )
    lane = st.integers(0, lanes - 1)
    listed = {key: data.draw(lane) for key in keys[::2]}
    hosts = data.draw(st.lists(lane, min_size=4 * lanes, max_size=4 * lanes))
    before = Plan(lanes, listed, hosts)
    maker = KipPlanner(
        lanes=lanes,
        heavy_per_lane=heavy_per_lane,
        slack=0.01,
        hosts_per_lane=4,
        capacities=speeds,
    )
    plan = maker.plan(h, before)
    heavy = heavy_per_lane * lanes
    isolated = h.hashes[:heavy]
    placed, moved_hosts = twin.kip_update(
        h.weights[:heavy].tolist(),
        h.total or 1.0,
        lanes_before(before, isolated).tolist(),
        [hosts[key % len(hosts)] for key in isolated.tolist()],
        tail_on(h, heavy, len(hosts)),
        hosts,
        0.01,
        maker.capacities.tolist(),
    )
    assert lanes_before(plan, isolated).tolist() == placed
    assert plan.hosts.tolist() == moved_hosts
    assert len(plan) == isolated.size


@pytest.fixture(scope="module")
def zipf_histogram() -> Histogram:
    return Histogram.from_hashes(stream(zipf_law(), 1, seed=1, tuples=1_000_000)[0])


@pytest.fixture(scope="module")
def flat_stream() -> list[NDArray[np.uint64]]:
    return stream(flat_law(), 20, seed=3, swaps=20)


def bound(histogram: Histogram, lanes: int) -> float:
    mean = histogram.total / lanes
    return max(mean, float(histogram.weights[0])) / mean


@pytest.mark.parametrize("lanes", [5, 10, 20, 50, 100])
def test_balance_stays_within_a_fifth_of_the_bound_where_hashing_does_not(
    zipf_histogram: Histogram, lanes: int
) -> None:
    h = zipf_histogram
    plan = planner("kip", lanes=lanes).plan(h.top(2 * lanes))
    hashed = max_over_mean(Plan(lanes).loads(h))
    least = bound(h, lanes)
    assert max_over_mean(plan.loads(h)) < 1.2 * least
    assert hashed - least > 2 * (max_over_mean(plan.loads(h)) - least)


def test_the_load_of_hashing_grows_with_the_lanes(zipf_histogram: Histogram) -> None:
    grown = [max_over_mean(Plan(lanes).loads(zipf_histogram)) for lanes in (5, 10, 20, 50, 100)]
    assert all(a < b for a, b in itertools.pairwise(grown))
    assert grown[-1] > 5 * grown[0]


def test_expected_loads_keep_the_stated_level(zipf_histogram: Histogram) -> None:
    for lanes in (5, 20, 100):
        h = zipf_histogram.top(2 * lanes)
        loads = planner("kip", lanes=lanes).plan(h).loads(h) / h.total
        assert loads.max() <= max(1 / lanes, h.shares[0]) + 0.001 + 1e-9


def test_the_first_change_from_hashing_moves_a_few_per_cent(zipf_histogram: Histogram) -> None:
    h = zipf_histogram
    for previous in (None, Plan(20)):
        plan = planner("kip", lanes=20).plan(h.top(40), previous)
        assert 0.01 < Plan(20).moved(plan, h) < 0.10


def test_a_stationary_stream_moves_next_to_nothing_after_that() -> None:
    batches = [Histogram.from_hashes(b) for b in stream(zipf_law(), 8, seed=2)]
    kip, plan, moved = planner("kip", lanes=20), Plan(20), []
    for h in batches:
        new = kip.plan(h.top(40), plan)
        moved.append(plan.moved(new, h))
        plan = new
    assert max(moved[1:]) < 0.01


def run(
    name: str, batches: list[NDArray[np.uint64]], histograms: list[Histogram]
) -> tuple[float, float]:
    """Return the mean max/mean on the next batch, and the mean share of state moved per change.

    State is what came in the last five batches, as in the DR paper's Figure 3.
    """
    maker, plan, levels, moved = planner(name, lanes=20), Plan(20), [], []
    for i in range(len(batches) - 1):
        new = maker.plan(histograms[i].top(40), plan)
        first, *others = histograms[max(0, i - 4) : i + 1]
        moved.append(plan.moved(new, first.merge(*others)))
        plan = new
        levels.append(max_over_mean(plan.loads(histograms[i + 1])))
    return float(np.mean(levels)), float(np.mean(moved))


def test_less_state_moved_than_readj_at_a_better_balance_on_a_drifting_stream(
    flat_stream: list[NDArray[np.uint64]],
) -> None:
    histograms = [Histogram.from_hashes(batch) for batch in flat_stream]
    kip_level, kip_moved = run("kip", flat_stream, histograms)
    readj_level, readj_moved = run("readj", flat_stream, histograms)
    assert kip_level < 0.95 * readj_level
    assert kip_moved < 0.75 * readj_moved


def test_more_heavy_keys_per_lane_give_a_better_balance() -> None:
    levels = []
    draws = [Histogram.from_hashes(stream(flat_law(), 1, seed=s)[0]) for s in range(12)]
    for heavy_per_lane in (1, 2, 3, 4):
        kip = planner("kip", lanes=20, heavy_per_lane=heavy_per_lane)
        plans = [kip.plan(h.top(20 * heavy_per_lane)) for h in draws]
        levels.append(
            np.mean([max_over_mean(p.loads(h)) for p, h in zip(plans, draws, strict=True)])
        )
    assert all(a > b for a, b in itertools.pairwise(levels))


def test_measured_hosts_beat_an_even_guess(flat_stream: list[NDArray[np.uint64]]) -> None:
    kip, exact = KipPlanner(lanes=20), Histogram.from_hashes(flat_stream[0])
    guessed = kip.plan(exact.top(40)).loads(exact)
    measured = Histogram.from_hashes(flat_stream[0], top=40, hosts=kip.hosts)
    known = kip.plan(measured).loads(exact)
    assert max_over_mean(known) < 1.03 < max_over_mean(guessed)
    # Known keys that are not isolated count for their hosts, which is as good as measuring them.
    assert max_over_mean(kip.plan(exact).loads(exact)) < 1.03


def test_capacities_level_the_load_per_capacity(flat_stream: list[NDArray[np.uint64]]) -> None:
    h = Histogram.from_hashes(flat_stream[0])
    speeds = np.tile([1, 2, 4, 1], 5)
    plan = planner("kip", lanes=20, capacities=speeds).plan(h)
    assert max_over_mean(plan.loads(h), speeds) < 1.03


def test_the_slowest_lane_does_not_get_the_hottest_key() -> None:
    h = Histogram.from_counts({4: 60, **dict.fromkeys(range(5, 45), 1)})
    plan = planner("kip", lanes=4, capacities=[1, 5, 1, 1]).plan(h)
    assert plan.fragments(4) == [(1, 1.0)]


def test_a_heavy_key_may_take_an_empty_lane_whatever_its_weight() -> None:
    h = Histogram.from_counts({0: 90, 2: 5, 4: 5})
    assert planner("kip", lanes=2).plan(h).loads(h).tolist() == [90, 10]


def test_a_previous_plan_of_any_planner_is_a_start() -> None:
    h = Histogram.from_counts({k: 40 - k for k in range(40)}, total=2000, distinct=500)
    for name in ("prompt", "scan", "mixed", "hash"):
        before = planner(name, lanes=4).plan(h)
        plan = planner("kip", lanes=4).plan(h, before)
        assert plan.hosts.size % before.hosts.size == 0
        assert plan.hosts.size >= 400
        assert not plan.splits_keys


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"heavy_per_lane": -1}, "heavy_per_lane must be"),
        ({"slack": 0}, "slack must be"),
        ({"slack": 1.5}, "slack must be"),
        ({"hosts_per_lane": 0}, "hosts_per_lane must be"),
        ({"capacities": [1, 2]}, "capacities must be 4"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        planner("kip", lanes=4, **parameters)
