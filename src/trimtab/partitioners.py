"""One way from what a caller gives to a partitioner, the same for every operator.

A caller names a partitioner, names it and sets parameters, or hands over a planner, a router or a
finished plan. `resolve` makes of it one checked `Partitioner`, or says why it cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from trimtab import _registry
from trimtab._checks import lane_count, seed_number
from trimtab.errors import InvalidArgument, SplitKeysRefused, UnknownName
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners import PLANNERS, Planner, planner_class
from trimtab.routers import ROUTERS, Router, router_class

Given: TypeAlias = str | Planner | Router | Plan
"""How a caller names a partitioner: a registry name, a planner or router with its parameters, or a
finished plan."""

HOSTS_PER_LANE = 64
"""Hosts by which an operator counts the tail where the planner asks for no number of its own."""


@dataclass(frozen=True, eq=False)
class Partitioner:
    """A partitioner that was found fit for an operator.

    Attributes
    ----------
    name
        The registry's name; of a plan its maker's, or "plan".
    kind
        "planner", "router" or "plan".
    lanes
        Number of lanes it was made for.
    splits_keys
        Whether a key may be on several lanes, where every task has a router of its own.
    fixed
        Whether an object was given, which cannot be made for another number of lanes.
    planner, router, plan
        Exactly one of them is there. A router that decides once for each key of a counted window,
        and that was given by its name, is there as a planner.
    arguments
        What a named partitioner was made with, apart from the lanes.
    """

    name: str
    kind: str
    lanes: int
    splits_keys: bool
    fixed: bool
    planner: Planner | None = None
    router: Router | None = None
    plan: Plan | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_counts(self) -> bool:
        """Whether keys must be counted before rows can be placed."""
        return self.planner is not None and self.planner.needs_counts

    @property
    def counts_batch_first(self) -> bool:
        """Whether a micro-batch is planned from its own keys, counted before it runs."""
        return self.planner is not None and self.planner.counts_batch_first

    @property
    def hosts(self) -> int:
        """Number of hosts to count the tail by, for a planner; 0 for others."""
        if self.planner is None:
            return 0
        return self.planner.hosts or self.lanes * HOSTS_PER_LANE

    def for_lanes(self, lanes: int) -> Partitioner:
        """Return the same partitioner on another number of lanes, made anew."""
        if lane_count(lanes) == self.lanes:
            return self
        if self.fixed:
            raise InvalidArgument(
                f"the {self.kind} {self.name!r} was made for {self.lanes} lanes and cannot be used "
                f"on {lanes}; give the partitioner by name where the number of lanes changes"
            )
        again = _built(class_of(self.name, self.kind), lanes, self.arguments)
        return _described(again, self.arguments, fixed=False)

    def with_parameters(self, parameters: Mapping[str, Any]) -> Partitioner:
        """Return the same partitioner with other parameters, made anew; it was given by name."""
        arguments = {**self.arguments, **parameters}
        again = _built(class_of(self.name, self.kind), self.lanes, arguments)
        return _described(again, arguments, fixed=False)


class DecidedOnce(Planner):
    """A router whose decisions for all tasks are made at once, from the counts of a batch.

    In the papers one router sees all tuples of a window, and a key stays where its first tuple
    went. On Spark every task has a router of its own, and each would decide for itself.

    Parameters
    ----------
    router
        A router that `decides_once`.
    """

    counts_batch_first = True
    settles_within = 1.0  # a window decides anew

    def __init__(self, router: Router) -> None:
        super().__init__(router.lanes)
        self.router = router
        self.name = router.name  # type: ignore[misc]

    @property
    def hosts(self) -> int:
        """Number of hosts that the tail is decided by."""
        return self.lanes * HOSTS_PER_LANE

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        return self.router.decide(histogram)


def known() -> tuple[str, ...]:
    """Return the names of all planners and routers."""
    return tuple(sorted({*PLANNERS, *ROUTERS}))


def class_of(name: str, kind: str | None = None) -> type[Planner] | type[Router]:
    """Return a partitioner's class; without a kind, a name of both is that of the planner.

    >>> class_of("trim").__name__, class_of("trim", "router").__name__, class_of("cam").__name__
    ('TrimPlanner', 'TrimRouter', 'CamRouter')
    """
    if kind == "planner" or (kind is None and name in PLANNERS):
        return planner_class(name)
    if kind == "router" or (kind is None and name in ROUTERS):
        return router_class(name)
    raise UnknownName("partitioner", name, known())


def make(
    name: str,
    lanes: int,
    parameters: Mapping[str, Any] | None = None,
    *,
    kind: str | None = None,
    **offered: Any,
) -> Planner | Router:
    """Make a partitioner by its name.

    Parameters
    ----------
    name, kind
        As for `class_of`.
    lanes
        Number of lanes, 1 or more.
    parameters
        What its constructor is given; a parameter that it does not have is refused.
    offered
        What its constructor is given if it has such a parameter, and `parameters` does not set it.

    Examples
    --------
    >>> make("pkg", 4, {"choices": 3}, seed=7, split=True).parameters()
    {'lanes': 4, 'choices': 3, 'seed': 7, 'endless': False}
    """
    cls = class_of(name, kind)
    return _built(cls, lanes, _arguments(cls, parameters, offered))


def resolve(
    given: Given,
    lanes: int,
    *,
    split: bool,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    in_stream: bool = False,
) -> Partitioner:
    """Return the partitioner that a caller means, made for an operator.

    Parameters
    ----------
    given
        See `Given`. A router that is given as an object keeps what it has learned.
    lanes
        The operator's number of lanes, 1 or more; an object must have been made for as many.
    split
        Whether the operator can work with split keys. A partitioner that always splits is refused
        where it cannot; one that can do without, does without.
    parameters
        For a name: what the constructor is given beside the lanes.
    seed
        For a name: chooses hash functions and random decisions.
    in_stream
        For a name: whether it routes micro-batches, which some routers have settings for.

    Examples
    --------
    >>> whole, cut = resolve("trim", 8, split=False), resolve("trim", 8, split=True)
    >>> whole.kind, whole.splits_keys, cut.splits_keys, cut.hosts
    ('planner', False, True, 512)
    >>> resolve("dalton", 8, split=True, parameters={"heat": 0.25}, in_stream=True).arguments
    {'cooperate': True, 'slides': 1, 'seed': 0, 'heat': 0.25}
    """
    lanes, seed = lane_count(lanes), seed_number(seed)
    if isinstance(given, str):
        cls = class_of(given)
        offered = {"split": split, "seed": seed}
        if in_stream and issubclass(cls, Router):
            offered = {**cls.stream_parameters, **offered}
        arguments = _arguments(cls, parameters, offered)
        found = _described(_built(cls, lanes, arguments), arguments, fixed=False)
    elif isinstance(given, Planner | Router | Plan):
        if parameters:
            raise InvalidArgument(
                f"parameters {', '.join(parameters)} go with a name, and a "
                f"{type(given).__name__} was given; make it with them, or give its name"
            )
        found = _described(given, {}, fixed=True)
    else:
        raise InvalidArgument(
            "partitioner must be a name, a planner, a router or a plan; got "
            f"{given!r} of type {type(given).__name__}"
        )
    if found.lanes != lanes:
        raise InvalidArgument(
            f"the {type(given).__name__} was made for {found.lanes} lanes, the operator has "
            f"{lanes}; give both the same number"
        )
    if found.splits_keys and not split:
        raise SplitKeysRefused(
            f"partitioner {found.name!r} splits keys, and this operator needs every key in one "
            "place; use 'trim', 'kip' or 'hash', or give a merge"
        )
    return found


def _arguments(
    cls: type[Planner] | type[Router],
    parameters: Mapping[str, Any] | None,
    offered: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the constructor's arguments, apart from the lanes."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidArgument(
            "parameters must map names to values, such as {'seed': 7}; got "
            f"{parameters!r} of type {type(parameters).__name__}"
        )
    if parameters and "lanes" in parameters:
        raise InvalidArgument(
            "the number of lanes is no parameter of its own; give it as lanes, and leave it out of "
            "the parameters"
        )
    taken = {name: value for name, value in offered.items() if cls.takes_parameter(name)}
    return {**taken, **(parameters or {})}


def _built(
    cls: type[Planner] | type[Router], lanes: int, arguments: Mapping[str, Any]
) -> Planner | Router:
    kind = "planner" if issubclass(cls, Planner) else "router"
    made = _registry.build(kind, cls, cls.name, {"lanes": lanes, **arguments})
    return cast(Planner | Router, made)


def _described(
    made: Planner | Router | Plan, arguments: Mapping[str, Any], *, fixed: bool
) -> Partitioner:
    lanes = made.lanes
    if isinstance(made, Plan):
        name = made.maker or "plan"
        return Partitioner(name, "plan", lanes, made.splits_keys, fixed, plan=made)
    if isinstance(made, Router) and made.decides_once and not fixed:
        planner = DecidedOnce(made)
        return Partitioner(
            made.name, "router", lanes, False, fixed, planner=planner, arguments=arguments
        )
    if isinstance(made, Router):
        splits = made.splits_keys_in_tasks
        return Partitioner(
            made.name, "router", lanes, splits, fixed, router=made, arguments=arguments
        )
    return Partitioner(
        made.name, "planner", lanes, made.splits_keys, fixed, planner=made, arguments=arguments
    )
