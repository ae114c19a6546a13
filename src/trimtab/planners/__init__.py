"""Plan makers, one file each; `base` is the contract, `planner` the way in."""

from __future__ import annotations

from typing import Any, cast

from trimtab import _registry
from trimtab.planners.base import Planner

PLANNERS: dict[str, str] = {
    "hash": "trimtab.planners.hash:HashPlanner",
    "prompt": "trimtab.planners.prompt:PromptPlanner",
    "kip": "trimtab.planners.kip:KipPlanner",
    "readj": "trimtab.planners.readj:ReadjPlanner",
    "redist": "trimtab.planners.redist:RedistPlanner",
    "scan": "trimtab.planners.scan:ScanPlanner",
    "mixed": "trimtab.planners.mixed:MixedPlanner",
    "trim": "trimtab.planners.trim:TrimPlanner",
}


def planner_class(name: str) -> type[Planner]:
    """Return the class of the planner called `name`."""
    return cast(type[Planner], _registry.load("planner", PLANNERS, name))


def planner(name: str = "trim", **parameters: Any) -> Planner:
    """Make the planner called `name`.

    >>> planner("hash", lanes=3).lanes
    3
    """
    cls = planner_class(name)
    return cast(Planner, _registry.build("planner", cls, name, parameters))


__all__ = ["PLANNERS", "Planner", "planner", "planner_class"]
