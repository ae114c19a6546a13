"""The route of a frame's rows: by a plan compiled to columns, or by routers in the tasks.

Batch operators and streams use the same one; they differ in how they come to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab._checks import one_of
from trimtab.errors import CorruptState
from trimtab.histogram import NAMES, Histogram
from trimtab.metrics import lower_bound, max_over_mean
from trimtab.partitioners import Given, resolve
from trimtab.plan import Plan
from trimtab.routers import Router, router_class
from trimtab.spark.columns import KeyColumns, hash_text, spare_names
from trimtab.spark.counting.counted import count_frame, known_keys
from trimtab.spark.counting.first_rows import FirstRows, first_share, share_size
from trimtab.spark.counting.heads import Heads, heads_for, heads_of
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS, lane_text, lay_out, with_lane
from trimtab.spark.routing.in_tasks import route_in_tasks
from trimtab.spark.routing.task_states import InTasks
from trimtab.spark.row_hash import row_hash_text, spread_text
from trimtab.spark.spark_text import is_observed

COUNTS = ("auto", "all", "first")
"""Which rows are counted before a plan is made."""


@dataclass(frozen=True, eq=False)
class Route:
    """How rows find their lanes, and what is expected of it.

    Attributes
    ----------
    lanes
        Number of lanes.
    name
        Name of the partitioner, for people.
    splits_keys
        Whether one key may be on several lanes.
    plan, router
        One of the two. A plan is compiled to columns; a router decides in the tasks, each of which
        starts from a copy of it.
    histogram
        The keys that the plan was made for; None where nothing had to be counted.
    why
        Why the rows are left to Spark's own hash, if they are: then there is neither a plan nor a
        router.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user, id from range(100)")
    >>> route = tt.write_balanced(clicks, tmp + "/clicks", "user", lanes=4)
    >>> print(route.explain("write", shuffles=1))
    write: partitioner 'trim' on 4 lanes, 1 shuffle of the rows, hot keys split
    expected max/mean 1.000; by plain hashing 2.760; at best 1.000
    ...
    """

    lanes: int
    name: str
    splits_keys: bool
    plan: Plan | None = None
    router: Router | None = None
    histogram: Histogram | None = None
    why: str = ""

    def placed(
        self,
        df: DataFrame,
        lane: str,
        key_hash: Column | str,
        rows: Column,
        kept: InTasks | None = None,
    ) -> DataFrame:
        """Add the lane of each row as column `lane`; no row moves yet.

        Parameters
        ----------
        df, lane
            The frame and the name of the new column.
        key_hash
            The key's hash, as an expression or as the name of a column of `df`.
        rows
            The row's hash, which picks the fragment of a split key.
        kept
            Where routers of a stream's tasks keep what they learn.
        """
        if self.router is None:
            assert self.plan is not None
            return with_lane(df, self.plan, lane, key_hash, rows)
        hashes = F.col(key_hash) if isinstance(key_hash, str) else key_hash
        return route_in_tasks(df, lane, hashes, rows, self.router, kept, self.histogram)

    def laid_out(self, df: DataFrame, key_hash: Column, lane: str) -> DataFrame:
        """Add the lane of each row as column `lane`, and move the row there."""
        # Routers sort by the row's hash, so that they see one order whatever the frame's is.
        splits = self.router is None and self.splits_keys
        rows = spread_text(df) if splits else row_hash_text(df.schema)
        return lay_out(self.placed(df, lane, key_hash, F.expr(rows)), self.lanes, lane)

    def lane_of(self, key: KeyColumns) -> Column | None:
        """Return the lane as an expression of the key, where it is one: no lane travels then."""
        plan = self.plan
        if plan is None or plan.splits_keys or len(plan) > MOST_INLINE_KEYS or key.texts is None:
            return None
        return F.expr(lane_text(plan, hash_text(key.texts)))

    def sent(self, df: DataFrame, key: KeyColumns) -> DataFrame:
        """Send each row to the partition of its lane, and add nothing to it."""
        lane_of_row = self.lane_of(key)
        if lane_of_row is not None:
            return lay_out(df, self.lanes, lane_of_row)
        (lane,) = spare_names(df.columns, "lane")
        return self.laid_out(df, key.hash, lane).drop(lane)

    def gain(self) -> float:
        """Return how many times fuller the fullest lane is by plain hashing; 1 if not known."""
        if self.plan is None or self.histogram is None:
            return 1.0
        ours, hashed = self._max_over_mean(self.plan, self.histogram)
        return hashed / ours

    def explain(self, what: str, shuffles: int, names: str = "plain") -> str:
        """Say which partitioner is used, how many shuffles it takes, and what it should save.

        `names` says whether hot keys are named as they are, or by their "hash".
        """
        one_of("names", names, NAMES)
        if self.why:
            return f"{what}: Spark's own: {self.why}"
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
            lines.extend(self._expectation(self.plan, self.histogram.named(names)))
        return "\n".join(lines)

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

    def to_record(self) -> dict[str, Any]:
        """Return the route as a checkpoint holds it; the histogram only if routers are told it."""
        told = None if self.router is None else self.histogram
        return {
            "lanes": self.lanes,
            "name": self.name,
            "splits_keys": self.splits_keys,
            "plan": None if self.plan is None else self.plan.to_json(),
            "router": None if self.router is None else self.router.state(),
            "told": None if told is None else told.to_json(),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any], source: str) -> Self:
        """Read what `to_record` returned; `source` names the file in errors."""
        try:
            text, state, told = record["plan"], record["router"], record["told"]
            return cls(
                record["lanes"],
                record["name"],
                record["splits_keys"],
                None if text is None else Plan.from_json(text, source),
                None if state is None else router_class(state["name"]).restore(state),
                None if told is None else Histogram.from_json(told, source),
            )
        except (KeyError, TypeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error


def route_of(
    df: DataFrame,
    key: KeyColumns,
    lanes: int,
    partitioner: Given,
    *,
    split: bool,
    parameters: Mapping[str, Any] | None = None,
    histogram: Histogram | None = None,
    unit: str = "rows",
    count: str = "auto",
    heads: Heads | None = None,
) -> Route:
    """Decide how the rows of a frame are routed; count the keys if a planner needs to know them.

    Parameters
    ----------
    df, key
        The frame and its key.
    lanes
        Number of lanes, 1 or more.
    partitioner, parameters
        What the user gave; see `trimtab.partitioners.resolve`.
    split
        Whether the operator can work with split keys. A partitioner that always splits is refused
        where it cannot; one that can do without, does without.
    histogram
        What is known of the keys, for instance weights in seconds that an earlier run has learned.
    unit
        What is counted if there is no histogram.
    count
        Whether "all" rows are counted, or only the "first" ones, some thousands for each lane. By
        default the first rows of every input partition, where they are quick to have and alike, and
        else all.
    heads
        The first rows of every partition, where they have been looked at already.
    """
    one_of("count", count, COUNTS)
    given = resolve(partitioner, lanes, split=split, parameters=parameters)
    planner = given.planner
    if planner is None:
        known = None if given.plan is None else histogram
        return Route(lanes, given.name, given.splits_keys, given.plan, given.router, known)
    if histogram is None and given.needs_counts:
        top = known_keys(lanes)
        if count == "auto" and unit == "rows":
            heads = heads or heads_for(df, key.hash, lanes)
            if heads is not None and heads.are_alike(planner, top, given.hosts):
                histogram = heads.counted(top, given.hosts)
        elif count == "first" and not is_observed(df):
            # What is observed must be seen of all rows: the first job's figures are kept.
            histogram = _share(df, key, lanes).counted(top, given.hosts)
        if histogram is None:
            counted = count_frame(df, key, hosts=given.hosts, top=top, unit=unit, number_keys=False)
            histogram = counted.histogram
    plan = planner.plan(Histogram.from_counts({}) if histogram is None else histogram)
    if histogram is not None:
        # Spark starts tasks in the order of partitions: the longest should not come last.
        plan = plan.by_falling_load(histogram)
    return Route(lanes, given.name, plan.splits_keys, plan, None, histogram)


def _share(df: DataFrame, key: KeyColumns, lanes: int) -> FirstRows:
    """Return the first share of a frame's rows, of every partition where that is quick.

    That is DR's batch mode, as far as Spark allows it: the partitioner is made when the first share
    of the map side has been seen, and the job then runs once. Only the rows that were seen, or the
    partitions where it is not quick, are computed again.
    """
    wanted = share_size(lanes)
    return heads_of(df, key.hash, wanted) or first_share(df, key.hash, wanted)
