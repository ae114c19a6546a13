"""From what a caller gives to one checked partitioner, with the same refusals for everybody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trimtab import Histogram, Plan, planner, router
from trimtab.errors import InvalidArgument, SplitKeysRefused, UnknownName
from trimtab.partitioners import DecidedOnce, class_of, known, make, resolve
from trimtab.planners import PLANNERS, Planner
from trimtab.planners.trim import TrimPlanner
from trimtab.routers import ROUTERS, Router

SPLIT_PLAN = Plan(4, {7: [(0, 0.5), (1, 0.5)]}, maker="prompt")
WHOLE_PLAN = Plan(4, {7: 2})


def test_known_names_are_those_of_both_registries() -> None:
    assert known() == tuple(sorted({*PLANNERS, *ROUTERS}))


@pytest.mark.parametrize("name", known())
def test_every_name_becomes_exactly_one_thing(name: str) -> None:
    found = resolve(name, 4, split=True)
    assert (found.name, found.lanes, found.fixed) == (name, 4, False)
    assert found.kind == ("planner" if name in PLANNERS else "router")
    there = [made for made in (found.planner, found.router, found.plan) if made is not None]
    (made,) = there
    # A router that decides once for all tasks stands behind a planner.
    inner = made.router if isinstance(made, DecidedOnce) else made
    assert type(inner) is class_of(name)
    assert there[0].lanes == 4


@pytest.mark.parametrize("name", known())
def test_whole_keys_are_asked_for_by_name_and_promised_or_refused(name: str) -> None:
    cls = class_of(name)
    if issubclass(cls, Router):
        keeps_whole = cls.same_lane_in_every_task or cls.decides_once
    else:
        keeps_whole = not cls.splits_keys
    if keeps_whole:
        assert not resolve(name, 4, split=False).splits_keys
    else:
        with pytest.raises(SplitKeysRefused, match=f"'{name}' splits keys.*'trim', 'kip' or 'ha"):
            resolve(name, 4, split=False)


def test_trim_splits_where_it_may() -> None:
    assert resolve("trim", 4, split=True).splits_keys
    assert not resolve("trim", 4, split=False).splits_keys


@pytest.mark.parametrize("name", ["am", "cam"])
def test_a_router_that_decides_once_is_a_planner_of_whole_keys(name: str) -> None:
    found = resolve(name, 4, split=False, parameters={"choices": 3})
    assert (found.kind, found.name, found.splits_keys, found.counts_batch_first) == (
        "router",
        name,
        False,
        True,
    )
    other = found.for_lanes(6)
    assert (other.lanes, other.arguments["choices"]) == (6, 3)
    counts = Histogram.from_counts({key: 100.0 / key for key in range(1, 50)})
    assert other.planner is not None
    plan = other.planner.plan(counts)
    assert plan == router(name, lanes=6, choices=3).decide(counts)
    assert not plan.splits_keys


def test_a_router_that_decides_as_tuples_come_says_so() -> None:
    with pytest.raises(InvalidArgument, match="'pkg' decides as tuples come"):
        router("pkg", lanes=4).decide(Histogram.from_counts({1: 2.0}))


@pytest.mark.parametrize(
    ("given", "kind", "name", "splits"),
    [
        pytest.param(planner("kip", lanes=4), "planner", "kip", False, id="a planner"),
        pytest.param(TrimPlanner(4, split=True), "planner", "trim", True, id="one that splits"),
        pytest.param(router("ch", lanes=4), "router", "ch", False, id="a router"),
        pytest.param(router("cam", lanes=4), "router", "cam", True, id="whole keys in a task only"),
        pytest.param(WHOLE_PLAN, "plan", "plan", False, id="a plan of nobody"),
        pytest.param(SPLIT_PLAN, "plan", "prompt", True, id="a plan of a maker"),
    ],
)
def test_an_object_is_taken_as_it_is(given: Any, kind: str, name: str, splits: bool) -> None:
    found = resolve(given, 4, split=True)
    assert (found.kind, found.name, found.splits_keys, found.fixed) == (kind, name, splits, True)
    assert given in (found.planner, found.router, found.plan)
    if splits:
        with pytest.raises(SplitKeysRefused, match="every key in one place"):
            resolve(given, 4, split=False)
    with pytest.raises(InvalidArgument, match=r"was made for 4 lanes, the operator has 5; give bo"):
        resolve(given, 5, split=True)
    with pytest.raises(InvalidArgument, match="parameters seed go with a name, and a "):
        resolve(given, 4, split=True, parameters={"seed": 1})
    assert resolve(given, 4, split=True, parameters={}).fixed


def test_a_router_that_has_learned_keeps_its_state() -> None:
    learned = router("pkg", lanes=4)
    learned.route(np.arange(100, dtype=np.uint64))
    found = resolve(learned, 4, split=True)
    assert found.router is learned
    assert found.router.loads().sum() == 100


def test_parameters_are_set_and_the_rest_is_offered() -> None:
    made = resolve("pkg", 4, split=True, parameters={"choices": 5}, seed=9).router
    assert made is not None
    assert made.parameters() == {"lanes": 4, "choices": 5, "seed": 9, "endless": False}
    made = resolve("pkg", 4, split=True, parameters={"seed": 3}, seed=9).router
    assert made is not None
    assert made.seed == 3
    assert resolve("kip", 4, split=True, seed=9).planner is not None  # takes neither, asks nothing


def test_streams_have_defaults_of_their_own_which_the_user_overrides() -> None:
    batch, stream = (resolve("dalton", 4, split=True, in_stream=s).router for s in (False, True))
    assert batch is not None
    assert stream is not None
    assert (batch.parameters()["cooperate"], batch.parameters()["slides"]) == (False, 60)
    assert (stream.parameters()["cooperate"], stream.parameters()["slides"]) == (True, 1)
    given = {"cooperate": False, "slides": 3, "heat": 0.25}
    own = resolve("dalton", 4, split=True, parameters=given, in_stream=True).router
    assert own is not None
    assert given.items() <= own.parameters().items()


def test_facts_are_read_from_the_planner() -> None:
    facts = {
        name: (p.needs_counts, p.counts_batch_first, p.hosts)
        for name, p in ((name, resolve(name, 4, split=True)) for name in known())
    }
    assert facts.pop("hash") == (False, False, 256)
    assert facts.pop("prompt") == (True, True, 256)
    assert facts.pop("trim") == (True, False, 256)
    assert facts.pop("kip") == (True, False, 400)
    assert facts.pop("am") == facts.pop("cam") == (True, True, 256)
    for name, found in facts.items():
        assert found == ((True, False, 256) if name in PLANNERS else (False, False, 0))
    plan = resolve(WHOLE_PLAN, 4, split=False)
    assert (plan.needs_counts, plan.counts_batch_first, plan.hosts) == (False, False, 0)


@pytest.mark.parametrize("name", known())
def test_a_name_can_be_made_for_other_lanes_an_object_cannot(name: str) -> None:
    four = resolve(name, 4, split=True, seed=3)
    nine = four.for_lanes(9)
    assert (nine.name, nine.kind, nine.lanes, nine.fixed) == (name, four.kind, 9, False)
    assert (nine.splits_keys, nine.arguments) == (four.splits_keys, four.arguments)
    made = nine.planner or nine.router
    assert made is not None
    assert made.lanes == 9
    assert four.for_lanes(4) is four
    given = resolve(make(name, 4), 4, split=True)
    assert given.for_lanes(4) is given
    with pytest.raises(InvalidArgument, match=r"made for 4 lanes and cannot be used on 9.*by name"):
        given.for_lanes(9)


def test_parameters_survive_a_change_of_lanes() -> None:
    again = resolve("kip", 4, split=False, parameters={"slack": 0.5}).for_lanes(8).planner
    assert again is not None
    assert again.slack == 0.5  # type: ignore[attr-defined]


def test_a_plan_cannot_change_its_lanes() -> None:
    with pytest.raises(InvalidArgument, match="the plan 'plan' was made for 4 lanes"):
        resolve(WHOLE_PLAN, 4, split=False).for_lanes(2)


@pytest.mark.parametrize("given", [None, 7, ["hash"], Planner, Histogram.from_counts({})], ids=str)
def test_what_is_no_partitioner_is_refused(given: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be a name, a planner, a router or a plan; got"):
        resolve(given, 4, split=True)


def test_mistakes_are_named() -> None:
    with pytest.raises(UnknownName, match=r"unknown partitioner 'kipp'; known partitioners: am, b"):
        resolve("kipp", 4, split=True)
    with pytest.raises(InvalidArgument, match=r"'kip' has no parameter 'lamda'.*heavy_per_lane"):
        resolve("kip", 4, split=True, parameters={"lamda": 1})
    with pytest.raises(InvalidArgument, match=r"choices must be a whole number in 1\.\.64; got 0"):
        resolve("pkg", 4, split=True, parameters={"choices": 0})
    with pytest.raises(InvalidArgument, match="leave it out of the parameters"):
        resolve("pkg", 4, split=True, parameters={"lanes": 4})
    with pytest.raises(InvalidArgument, match="parameters must map names to values"):
        resolve("pkg", 4, split=True, parameters=[("choices", 2)])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="lanes must be a whole number"):
        resolve("pkg", 0, split=True)
    with pytest.raises(InvalidArgument, match="seed must be a whole number"):
        resolve("kip", 4, split=True, seed=-1)
    with pytest.raises(UnknownName, match="unknown planner 'pkg'"):
        make("pkg", 4, kind="planner")
