"""From a partitioner's name to rows with a lane: what every batch operator does first."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

from trimtab._checks import lane_count
from trimtab.errors import InvalidArgument, SplitKeysRefused, UnknownName
from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.plan import Plan
from trimtab.planners import PLANNERS, Planner, planner_class
from trimtab.routers import ROUTERS, router_class
from trimtab.spark.columns import KeyColumns, row_hash
from trimtab.spark.layout import lay_out, with_lane
from trimtab.spark.routing import route_with_router
from trimtab.spark.statistics import collect_statistics

Partitioner: TypeAlias = str | Planner | Plan
"""How a caller names a partitioner: a registry name, a planner with its parameters, or a plan."""

HOSTS_PER_LANE = 64
"""Hosts by which the tail is counted where the planner does not ask for another number."""


@dataclass(frozen=True)
class RoutingPlan:
    """How the rows of a frame find their lanes, and what is expected of it.

    `plan` is None for a router, which decides in the tasks; `histogram` is None where a plan was
    given and nothing had to be counted.
    """

    lanes: int
    name: str
    splits_keys: bool
    plan: Plan | None
    histogram: Histogram | None

    def laid_out(self, df: DataFrame, key: KeyColumns, lane: str) -> DataFrame:
        """Add the lane of each row as column `lane`, and move the row there."""
        rows = row_hash(df)
        if self.plan is None:
            parameters: dict[str, Any] = {"lanes": self.lanes}
            placed = route_with_router(
                df, lane, key.hash, rows, router_name=self.name, **parameters
            )
        else:
            placed = with_lane(df, self.plan, lane, key.hash, rows)
        return lay_out(placed, self.lanes, lane)

    def explain(self, what: str, shuffles: int) -> str:
        """Say which partitioner is used, how many shuffles it takes, and what it should save."""
        lines = [
            f"{what}: partitioner {self.name!r} on {self.lanes} lanes, {shuffles} "
            f"{'shuffle' if shuffles == 1 else 'shuffles'} of the rows, "
            f"{'hot keys split' if self.splits_keys else 'keys whole'}"
        ]
        if self.plan is None:
            lines.append("a router decides in the tasks: nothing is known beforehand")
        elif self.histogram is None:
            lines.append("the plan was given: nothing was counted")
        else:
            lines.extend(self._expectation(self.plan, self.histogram))
        return "\n".join(lines)

    def _expectation(self, plan: Plan, histogram: Histogram) -> list[str]:
        ours = max_over_mean(plan.loads(histogram))
        hashed = max_over_mean(Plan(self.lanes).loads(histogram))
        heaviest = float(histogram.weights[0]) if len(histogram) and not self.splits_keys else 0.0
        mean = histogram.total / self.lanes
        least = max(mean, heaviest) / mean if mean > 0 else 1.0
        saved = 1 - ours / hashed if hashed > 0 else 0.0
        return [
            f"expected max/mean {ours:.3f}; by plain hashing {hashed:.3f}; at best {least:.3f}",
            f"the heaviest lane takes {max(saved, 0.0):.0%} less time than by plain hashing",
            plan.explain(histogram, most=5),
        ]


def routing_plan(
    df: DataFrame,
    key: KeyColumns,
    lanes: int,
    partitioner: Partitioner,
    *,
    split: bool,
    histogram: Histogram | None = None,
) -> RoutingPlan:
    """Decide how the rows of `df` are routed; counts the keys if no histogram is given.

    Parameters
    ----------
    df, key
        The frame and its key.
    lanes
        Number of lanes, 1 or more.
    partitioner
        See `Partitioner`.
    split
        Whether the operator can work with split keys. A partitioner that always splits is refused
        where it cannot; one that can do without, does without.
    histogram
        What is known of the keys, for instance weights in seconds that an earlier run has learned.
    """
    lanes = lane_count(lanes)
    if isinstance(partitioner, Plan):
        return _given_plan(partitioner, lanes, split, histogram)
    if isinstance(partitioner, str) and partitioner not in PLANNERS:
        return _given_router(partitioner, lanes, split)
    made = _planner(partitioner, lanes, split)
    if made.splits_keys and not split:
        raise _refusal(made.name)
    if histogram is None:
        hosts = getattr(made, "hosts", lanes * HOSTS_PER_LANE)
        histogram = collect_statistics(df, key, hosts=hosts, top=_top(lanes)).histogram
    plan = made.plan(histogram)
    return RoutingPlan(lanes, made.name, plan.splits_keys, plan, histogram)


def _top(lanes: int) -> int:
    # Trim places keys from 1/50 of a lane's share on: there are at most 50 per lane, and rarely
    # more than a dozen.
    return max(1024, 16 * lanes)


def _planner(partitioner: object, lanes: int, split: bool) -> Planner:
    if isinstance(partitioner, Planner):
        if partitioner.lanes != lanes:
            raise InvalidArgument(
                f"the planner was made for {partitioner.lanes} lanes, the operator has {lanes}; "
                "give both the same number"
            )
        return partitioner
    if not isinstance(partitioner, str):
        raise InvalidArgument(
            "partitioner must be a name, a planner or a plan; got "
            f"{partitioner!r} of type {type(partitioner).__name__}"
        )
    cls = planner_class(partitioner)
    parameters: dict[str, Any] = {"lanes": lanes}
    if "split" in inspect.signature(cls.__init__).parameters:
        parameters["split"] = split
    return cls(**parameters)


def _given_plan(plan: Plan, lanes: int, split: bool, histogram: Histogram | None) -> RoutingPlan:
    if plan.lanes != lanes:
        raise InvalidArgument(
            f"the plan has {plan.lanes} lanes, the operator {lanes}; use plan.resized({lanes})"
        )
    if plan.splits_keys and not split:
        raise _refusal(plan.maker or "plan")
    return RoutingPlan(lanes, plan.maker or "plan", plan.splits_keys, plan, histogram)


def _given_router(name: str, lanes: int, split: bool) -> RoutingPlan:
    if name not in ROUTERS:
        raise UnknownName("partitioner", name, {*PLANNERS, *ROUTERS})
    # Every input partition has a router of its own: a key may get another lane from each, even by
    # a router that keeps keys whole, unless its lane follows from the key alone.
    splits = name not in ("hash", "ch")
    if splits and not split:
        raise _refusal(name)
    return RoutingPlan(lanes, router_class(name).name, splits, None, None)


def _refusal(name: str) -> SplitKeysRefused:
    return SplitKeysRefused(
        f"partitioner {name!r} splits keys, and this operator needs every key in one place; use "
        "'trim', 'kip' or 'hash', or give a merge"
    )
