"""What every planner promises, tried on every name of the registry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.described import variants
from tests.planners.histograms import HOSTILE, histograms, stream, zipf_law
from trimtab import Histogram, Plan, hash_keys, planner
from trimtab.errors import InvalidArgument, UnknownName
from trimtab.planners import PLANNERS, Planner, planner_class

VARIANTS = variants(map(planner_class, PLANNERS))

each_planner = pytest.mark.parametrize("variant", list(VARIANTS))
each_hostile = pytest.mark.parametrize("case", HOSTILE)


def make(variant: str, lanes: int = 4) -> Planner:
    return planner(variant.split("/")[0], lanes=lanes, **VARIANTS[variant])


def check(plan: Plan, histogram: Histogram, maker: Planner, before: str | None = None) -> None:
    """Everything that must hold for any plan; one that was kept has the name of its maker."""
    assert plan.lanes == maker.lanes
    assert plan.maker in (maker.name, before)
    for lanes in (plan.hosts, plan.lane_of):
        assert ((lanes >= 0) & (lanes < maker.lanes)).all()
    assert maker.splits_keys or not plan.splits_keys
    loads = plan.loads(histogram)
    assert (loads >= 0).all()
    assert loads.sum() == pytest.approx(histogram.total, rel=1e-9, abs=1e-12)
    if len(plan):
        sums = np.add.reduceat(plan.shares, plan.starts[:-1])
        assert sums == pytest.approx(np.ones(len(plan)))
        assert (plan.shares > 0).all()
    per_key = plan.lane_shares(histogram.hashes[:50]).sum(axis=1)
    assert per_key == pytest.approx(np.ones(per_key.size))
    assert Plan.from_json(plan.to_json()) == plan


def test_the_registry_holds_exactly_the_names_of_the_design() -> None:
    assert list(PLANNERS) == ["hash", "prompt", "kip", "readj", "redist", "scan", "mixed", "trim"]


def test_trim_is_what_one_gets_without_a_name() -> None:
    assert planner(lanes=3).name == "trim"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"unknown planner 'kipp'.*hash, kip, mixed.*trim"):
        planner("kipp", lanes=4)


def test_an_unknown_parameter_lists_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match=r"'kip' has no parameter 'lamda'.*heavy_per_lane"):
        planner("kip", lanes=4, lamda=3)


@each_planner
@pytest.mark.parametrize("lanes", [0, -1, 2.5, "4", None, True], ids=repr)
def test_a_bad_number_of_lanes_is_refused_at_the_call(variant: str, lanes: Any) -> None:
    with pytest.raises(InvalidArgument, match="lanes must be a whole number"):
        make(variant, lanes)


@each_planner
def test_something_else_than_a_histogram_is_refused(variant: str) -> None:
    with pytest.raises(InvalidArgument, match=r"takes a trimtab\.Histogram; got dict"):
        make(variant).plan({1: 2})  # type: ignore[arg-type]


@each_planner
@each_hostile
@pytest.mark.parametrize("lanes", [1, 2, 64])
def test_hostile_histograms_give_sound_plans(variant: str, case: str, lanes: int) -> None:
    maker, h = make(variant, lanes), HOSTILE[case]
    first = maker.plan(h)
    check(first, h, maker)
    check(maker.plan(h, first), h, maker)
    assert make(variant, lanes).plan(h) == first, "equal histograms give equal plans"


@each_planner
@given(h=histograms(), lanes=st.integers(1, 9))
def test_any_histogram_gives_a_sound_plan(variant: str, h: Histogram, lanes: int) -> None:
    maker = make(variant, lanes)
    check(maker.plan(h), h, maker)
    check(maker.plan(h, Plan(lanes)), h, maker, before="")


@pytest.mark.parametrize("variant", [v for v in VARIANTS if not make(v).needs_counts])
@each_hostile
def test_what_needs_no_counts_plans_without_them(variant: str, case: str) -> None:
    maker, nothing = make(variant), Histogram.from_counts({})
    assert maker.plan(HOSTILE[case]) == maker.plan(nothing) == maker.plan(nothing, Plan(7))


@each_planner
@each_hostile
def test_planning_the_same_again_moves_nothing(variant: str, case: str) -> None:
    maker, h = make(variant, 8), HOSTILE[case]
    plan = maker.plan(h)
    for _ in range(3):
        again = maker.plan(h, plan)
        assert plan.moved(again, h) == pytest.approx(0.0, abs=1e-9)
        plan = again


@pytest.fixture(scope="module")
def batches() -> list[Histogram]:
    return [Histogram.from_hashes(b, top=64, hosts=512) for b in stream(zipf_law(), 3, seed=9)]


@each_planner
def test_a_running_plan_is_kept_better_than_a_plan_from_scratch(
    variant: str, batches: list[Histogram]
) -> None:
    maker = make(variant, 16)
    before = maker.plan(batches[0])
    kept, fresh = maker.plan(batches[1], before), maker.plan(batches[1])
    assert before.moved(kept, batches[1]) <= before.moved(fresh, batches[1]) + 1e-9
    if maker.settles_within < 1.0:
        assert before.moved(kept, batches[1]) < 0.1
    assert maker.plan(batches[0], before).moved(before, batches[0]) == pytest.approx(0, abs=1e-9)


@each_planner
def test_a_stationary_stream_that_started_from_hashing_settles(
    variant: str, batches: list[Histogram]
) -> None:
    maker, plan, moved = make(variant, 16), Plan(16), []
    for h in batches * 2:
        new = maker.plan(h, plan)
        moved.append(plan.moved(new, h))
        plan = new
    assert max(moved[3:]) <= maker.settles_within


@each_planner
@pytest.mark.parametrize(("old", "new"), [(16, 4), (4, 16), (7, 5)])
def test_a_previous_plan_on_another_number_of_lanes_is_taken(
    variant: str, old: int, new: int, batches: list[Histogram]
) -> None:
    before = make(variant, old).plan(batches[0])
    maker = make(variant, new)
    plan = maker.plan(batches[0], before)
    check(plan, batches[0], maker)
    assert (plan.loads(batches[0]) > 0).all(), "new lanes are used"


@each_planner
@pytest.mark.parametrize("other", ["hash", "prompt", "kip", "scan", "mixed", "trim"])
def test_a_previous_plan_of_another_planner_is_taken(
    variant: str, other: str, batches: list[Histogram]
) -> None:
    maker = make(variant, 16)
    before = planner(other, lanes=16).plan(batches[0])
    check(maker.plan(batches[1], before), batches[1], maker, before=other)


@each_planner
def test_planning_leaves_its_arguments_alone(variant: str, batches: list[Histogram]) -> None:
    text, before = batches[0].to_json(), planner("hash", lanes=16).plan(batches[0])
    make(variant, 16).plan(batches[0], before)
    assert batches[0].to_json() == text
    assert before == Plan(16)


@each_planner
def test_the_unit_of_the_weights_does_not_matter(variant: str) -> None:
    # Broken weights, as prompt cuts whole ones into whole numbers. A power of two, as it is exact.
    counts = {k * k + k: 0.3 + 500.0 / (k + 1) for k in range(200)}
    rows = Histogram.from_counts(counts, unit="seconds")
    scaled = rows.scaled(2.0**-20)
    maker = make(variant, 8)
    a, b = maker.plan(rows), maker.plan(scaled)
    assert (a.keys == b.keys).all()
    assert (a.lane_of == b.lane_of).all()
    assert (a.hosts == b.hosts).all()
    assert a.shares == pytest.approx(b.shares)


@pytest.fixture(scope="module")
def million() -> Histogram:
    return Histogram.from_counts(
        (hash_keys(np.arange(1_000_000)), np.floor(3e5 / np.arange(1, 1_000_001)) + 1)
    )


@each_planner
def test_a_million_keys_are_planned(variant: str, million: Histogram) -> None:
    maker = make(variant, 32)
    plan = maker.plan(million)
    loads = plan.loads(million)
    assert loads.sum() == pytest.approx(million.total)
    assert loads.max() <= Plan(32).loads(million).max() * 1.1
    assert (plan.route(million.hashes[:1000]) < 32).all()
