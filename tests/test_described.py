"""What every partitioner says of itself is complete, and true of its constructor."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.described import inside, outside
from trimtab._described import NOT_SAID
from trimtab._parameters import REQUIRED, Parameter
from trimtab.errors import InvalidArgument
from trimtab.planners import PLANNERS, Planner, planner_class
from trimtab.routers import ROUTERS, Router, router_class

CLASSES: dict[str, type[Any]] = {
    **{f"router {name}": router_class(name) for name in ROUTERS},
    **{f"planner {name}": planner_class(name) for name in PLANNERS},
}
LANES = 4

each_class = pytest.mark.parametrize("which", CLASSES)
TAKEN = [(which, parameter) for which, cls in CLASSES.items() for parameter in cls.takes]


def each_parameter(but: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    some = [(which, parameter) for which, parameter in TAKEN if parameter.name not in but]
    names = [f"{which} {parameter.name}" for which, parameter in some]
    return pytest.mark.parametrize(("which", "parameter"), some, ids=names)


@each_class
def test_the_name_is_the_registrys(which: str) -> None:
    assert CLASSES[which].name == which.split()[1]


@each_class
def test_every_fact_is_said_in_a_short_phrase(which: str) -> None:
    cls = CLASSES[which]
    for words in (cls.paper, cls.cost, cls.state_in_words, cls.use_when):
        assert 0 < len(words) <= 70
        assert not words.endswith(".")
    assert cls.complexity < NOT_SAID


@each_class
def test_facts_do_not_contradict_each_other(which: str) -> None:
    cls = CLASSES[which]
    if issubclass(cls, Router):
        assert not (cls.ignores_keys and cls.same_lane_in_every_task)
        if cls.ignores_keys:
            assert cls.splits_keys
        if cls.same_lane_in_every_task:
            assert not cls(LANES).splits_keys
            assert not cls(LANES).splits_keys_in_tasks
        assert cls(LANES, **cls.stream_parameters).lanes == LANES
    else:
        assert issubclass(cls, Planner)
        assert cls.needs_counts or not cls.counts_batch_first
        assert 0 <= cls.settles_within <= 1
        assert cls(LANES).hosts >= 0


@each_class
def test_what_is_declared_is_what_the_constructor_takes(which: str) -> None:
    cls = CLASSES[which]
    signature = inspect.signature(cls.__init__).parameters
    taken = {name: p.default for name, p in signature.items() if name != "self"}
    assert [(p.name, p.default) for p in cls.takes] == list(taken.items())
    assert [p.name for p in cls.takes if p.default is REQUIRED] == ["lanes"]


def make(cls: type[Any], lanes: int, parameter: Parameter[Any], value: Any) -> Any:
    return cls(**{"lanes": lanes, parameter.name: value})


# The upper ends of lanes and points would fill the memory.
@each_parameter(but=("lanes", "points"))
def test_values_at_the_ends_of_the_range_are_taken(which: str, parameter: Parameter[Any]) -> None:
    # On one lane, as some ranges are narrower on many.
    for value in inside(parameter.allowed, lanes=1):
        made = make(CLASSES[which], 1, parameter, value)
        assert hasattr(made, parameter.name)


@each_parameter()
def test_values_just_outside_of_the_range_are_refused(
    which: str, parameter: Parameter[Any]
) -> None:
    for value in outside(parameter.allowed, LANES):
        with pytest.raises(InvalidArgument, match=parameter.name):
            make(CLASSES[which], LANES, parameter, value)


@each_parameter()
def test_the_default_is_inside_of_the_range(which: str, parameter: Parameter[Any]) -> None:
    if parameter.default is not REQUIRED:
        parameter.allowed.check(parameter.name, parameter.default, LANES)
    assert 0 < len(parameter.effect) <= 90
