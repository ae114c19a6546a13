"""From a partitioner's name to rows with a lane: what every batch operator does first."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab._checks import lane_count
from trimtab.errors import InvalidArgument, SplitKeysRefused, UnknownName
from trimtab.histogram import Histogram
from trimtab.metrics import lower_bound, max_over_mean
from trimtab.plan import Plan
from trimtab.planners import PLANNERS, Planner, planner_class
from trimtab.routers import ROUTERS, Router, router_class
from trimtab.spark.columns import KeyColumns, hash_text, row_hash, spare_names
from trimtab.spark.counting.counted import collect_statistics
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS, lane_text, lay_out, with_lane
from trimtab.spark.routing.in_tasks import route_with_router

Partitioner: TypeAlias = str | Planner | Plan | Router
"""How a caller names a partitioner: a registry name, a planner or router with its parameters, or a
finished plan."""

HOSTS_PER_LANE = 64
"""Hosts by which the tail is counted where the planner does not ask for another number."""

KEY_ONLY = ("hash", "ch")
"""Routers whose lane follows from the key alone. All others may split keys on Spark: every input
partition has a router of its own, and each may send a key to another lane."""


@dataclass(frozen=True)
class RoutingPlan:
    """How the rows of a frame find their lanes, and what is expected of it.

    Either `plan` or `router` is there; a router decides in the tasks, one copy per input partition.
    `histogram` is None where nothing had to be counted.
    """

    lanes: int
    name: str
    splits_keys: bool
    plan: Plan | None
    router: Router | None
    histogram: Histogram | None

    def laid_out(self, df: DataFrame, key_hash: Column, lane: str) -> DataFrame:
        """Add the lane of each row as column `lane`, and move the row there."""
        if self.router is not None:
            placed = route_with_router(
                df,
                lane,
                key_hash,
                row_hash(df),
                router_name=self.router.name,
                **self.router.parameters(),
            )
        else:
            assert self.plan is not None
            rows = row_hash(df) if self.plan.splits_keys else None
            placed = with_lane(df, self.plan, lane, key_hash, rows)
        return lay_out(placed, self.lanes, lane)

    def lane_of(self, key: KeyColumns) -> Column | None:
        """Return the lane as an expression of the key, where it is one: no lane travels then."""
        plan = self.plan
        if plan is None or plan.splits_keys or len(plan) > MOST_INLINE_KEYS or key.texts is None:
            return None
        return F.expr(lane_text(plan, hash_text(key.texts)))

    def moved(self, df: DataFrame, key: KeyColumns) -> DataFrame:
        """Move each row to the partition of its lane, and add nothing to it."""
        lane_of_row = self.lane_of(key)
        if lane_of_row is not None:
            return lay_out(df, self.lanes, lane_of_row)
        (lane,) = spare_names(df.columns, "lane")
        return self.laid_out(df, key.hash, lane).drop(lane)

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
            lines.append("nothing was counted: the plan was given, or does not depend on the keys")
        else:
            lines.extend(self._expectation(self.plan, self.histogram))
        return "\n".join(lines)

    def gain(self) -> float:
        """Return how many times fuller the fullest lane is by plain hashing; 1 if not known."""
        if self.plan is None or self.histogram is None:
            return 1.0
        ours, hashed = self._max_over_mean(self.plan, self.histogram)
        return hashed / ours

    def _max_over_mean(self, plan: Plan, histogram: Histogram) -> tuple[float, float]:
        hashed = Plan(self.lanes).loads(histogram)
        return max_over_mean(plan.loads(histogram)), max_over_mean(hashed)

    def _expectation(self, plan: Plan, histogram: Histogram) -> list[str]:
        ours, hashed = self._max_over_mean(plan, histogram)
        mean = histogram.total / self.lanes
        bound = lower_bound(
            histogram.weights, self.lanes, total=histogram.total, splits_keys=self.splits_keys
        )
        least = bound / mean if mean > 0 else 1.0
        return [
            f"expected max/mean {ours:.3f}; by plain hashing {hashed:.3f}; at best {least:.3f}",
            f"the heaviest lane takes {max(1 - ours / hashed, 0.0):.0%} less time than by plain "
            "hashing",
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
    """Decide how the rows of `df` are routed; counts the keys if a planner needs to know them.

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
    made = _made(partitioner, lane_count(lanes), split)
    if made.lanes != lanes:
        raise InvalidArgument(
            f"the {type(made).__name__} was made for {made.lanes} lanes, the operator has {lanes}; "
            "give both the same number"
        )
    name = made.maker or "plan" if isinstance(made, Plan) else made.name
    splits = name not in KEY_ONLY if isinstance(made, Router) else made.splits_keys
    if splits and not split:
        raise SplitKeysRefused(
            f"partitioner {name!r} splits keys, and this operator needs every key in one place; "
            "use 'trim', 'kip' or 'hash', or give a merge"
        )
    if isinstance(made, Router):
        return RoutingPlan(lanes, name, splits, None, made, None)
    if isinstance(made, Plan):
        return RoutingPlan(lanes, name, splits, made, None, histogram)
    if histogram is None and name != "hash":
        hosts = getattr(made, "hosts", lanes * HOSTS_PER_LANE)
        histogram = collect_statistics(df, key, hosts=hosts, top=_top(lanes)).histogram
    plan = made.plan(Histogram.from_counts({}) if histogram is None else histogram)
    if histogram is not None:
        # Spark starts tasks in the order of partitions: the longest should not come last.
        plan = plan.by_falling_load(histogram)
    return RoutingPlan(lanes, name, plan.splits_keys, plan, None, histogram)


def _top(lanes: int) -> int:
    # Trim places keys from 1/50 of a lane's share on: there are at most 50 per lane, and rarely
    # more than a dozen.
    return max(1024, 16 * lanes)


def _made(partitioner: object, lanes: int, split: bool) -> Planner | Router | Plan:
    if isinstance(partitioner, Planner | Router | Plan):
        return partitioner
    if not isinstance(partitioner, str):
        raise InvalidArgument(
            "partitioner must be a name, a planner, a router or a plan; got "
            f"{partitioner!r} of type {type(partitioner).__name__}"
        )
    if partitioner not in {*PLANNERS, *ROUTERS}:
        raise UnknownName("partitioner", partitioner, {*PLANNERS, *ROUTERS})
    cls: Any = planner_class if partitioner in PLANNERS else router_class
    parameters: dict[str, Any] = {"lanes": lanes, "split": split}
    accepted = inspect.signature(cls(partitioner).__init__).parameters
    made: Planner | Router = cls(partitioner)(
        **{name: value for name, value in parameters.items() if name in accepted}
    )
    return made
