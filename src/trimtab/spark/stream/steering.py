"""Deciding, batch by batch, where rows go: the plan, whether a new one pays, how many tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from trimtab.control.autoscale import AutoScaler
from trimtab.control.repartitioner import Repartitioner
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.partitioners import Given, resolve
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.routers import Router
from trimtab.sketches.histogram_history import HistogramHistory
from trimtab.spark.counting.observed import MOST_KEYS, Observed
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS
from trimtab.spark.routing.route import Route
from trimtab.spark.stream.course import Course

DRIFT = 1.1
"""Where the running plan is this much less level on the newest batch than on those before, what was
known of the keys has passed: old histograms are forgotten instead of fading."""


@dataclass
class Knowledge:
    """What steering knows after a batch."""

    history: HistogramHistory = field(default_factory=lambda: HistogramHistory(length=4, fade=0.5))
    # No state hangs on a lane here, so that following the keys costs nothing and one batch decides.
    judge: Repartitioner = field(default_factory=lambda: Repartitioner(move_cost=0.0, memory=1))
    scaler: AutoScaler | None = None
    scaling: str = ""
    plan: Plan | None = None
    version: int = 0
    rows: int = 0
    router: dict[str, Any] | None = None
    """Name and parameters of the routers of the last batch."""

    @property
    def newest(self) -> Histogram | None:
        """The keys of the newest batch; None before anything was seen."""
        return list(self.history)[-1] if len(self.history) else None

    def state(self) -> dict[str, Any]:
        """Return everything, as a checkpoint holds it."""
        return {
            "history": self.history.state(),
            "judge": self.judge.state(),
            "scaler": None if self.scaler is None else self.scaler.state(),
            "scaling": self.scaling,
            "plan": None if self.plan is None else self.plan.to_json(),
            "version": self.version,
            "rows": self.rows,
            "router": self.router,
        }

    @classmethod
    def restore(cls, state: dict[str, Any], source: str) -> Self:
        """Read what `state` returned; `source` names the file in errors."""
        try:
            scaler, plan = state["scaler"], state["plan"]
            return cls(
                HistogramHistory.restore(state["history"]),
                Repartitioner.restore(state["judge"]),
                None if scaler is None else AutoScaler.restore(scaler),
                state["scaling"],
                None if plan is None else Plan.from_json(plan, source),
                state["version"],
                state["rows"],
                state["router"],
            )
        except (KeyError, TypeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error


class Steering:
    """Choose the course of each batch from what earlier batches have shown.

    Parameters
    ----------
    given, parameters
        What the user gave as partitioner; see `trimtab.partitioners.resolve`.
    lanes
        Number of lanes; with a scaler, the number to start with.
    split
        Whether the operation can work with split keys.
    seed
        For routers.
    scaler
        Sets lanes and reduce tasks after each batch.
    """

    def __init__(
        self,
        given: Given,
        lanes: int,
        *,
        split: bool,
        parameters: Mapping[str, Any] | None = None,
        seed: int = 0,
        scaler: AutoScaler | None = None,
    ) -> None:
        self.partitioner = resolve(
            given, lanes, split=split, parameters=parameters, seed=seed, in_stream=True
        )
        self.scaler = scaler
        if scaler is not None and self.partitioner.fixed:
            raise InvalidArgument(
                "with autoscale the number of lanes changes; give the partitioner by name"
            )

    @property
    def name(self) -> str:
        """The partitioner's name."""
        return self.partitioner.name

    def start(self) -> Knowledge:
        """Return what is known of a stream that has seen nothing."""
        return Knowledge(scaler=self.scaler)

    def hosts(self, route: Route) -> int:
        """Return the number of hosts to count keys by, so that the planner can use the counts."""
        given = self.partitioner
        if route.plan is None or given.counts_batch_first or not given.needs_counts:
            return 0
        hosts = route.plan.hosts.size
        return max(n for n in range(1, min(hosts, MOST_KEYS - 1) + 1) if hosts % n == 0)

    def course(self, known: Knowledge, count: Callable[[int, int], Histogram]) -> Course:
        """Choose the course of the next batch.

        `count` counts the keys of that batch itself, by so many hosts and with so many heavy keys.
        """
        lanes, tasks = self.partitioner.lanes, None
        if known.scaler is not None:
            lanes, tasks = known.scaler.map_tasks, known.scaler.reduce_tasks
        given = self.partitioner.for_lanes(lanes)
        moved = 0.0
        if given.planner is not None:
            plan, changed, reason, moved = self._planned(given.planner, known, count)
            splits = plan.splits_keys
        elif given.plan is not None:
            plan, splits = given.plan, given.splits_keys
            changed, reason = plan != known.plan, "the plan was given"
        else:
            plan, splits = None, given.splits_keys
            changed, reason = _new_routers(known.router, _facts(given.router))
        version = known.version + (1 if changed or known.version == 0 else 0)
        route = Route(lanes, given.name, splits, plan, given.router)
        go_on = given.router is not None and not changed
        return Course(route, tasks, version, changed, reason, moved, known.scaling, go_on)

    def _planned(
        self, planner: Planner, known: Knowledge, count: Callable[[int, int], Histogram]
    ) -> tuple[Plan, bool, str, float]:
        running = known.plan
        if planner.counts_batch_first:
            plan = planner.plan(count(planner.lanes, MOST_INLINE_KEYS), running)
            return plan, plan != running, "planned from the batch's own counts", 0.0
        newest = known.newest
        if newest is None:
            plan = planner.plan(Histogram.from_counts({}), running)
            return plan, running is None, "nothing is known of the keys yet", 0.0
        candidate = planner.plan(known.history.blend(top=MOST_INLINE_KEYS), running)
        decision = known.judge.decide(running or Plan(planner.lanes), candidate, newest)
        moved = decision.moved if decision.change else 0.0
        return decision.plan, decision.change, decision.reason, moved

    def learned(
        self,
        known: Knowledge,
        course: Course,
        seen: Observed | None,
        seconds: float,
        interval: float | None,
    ) -> Knowledge:
        """Return what is known after a batch that took `seconds` of an `interval`."""
        plan = course.route.plan
        router = _facts(course.route.router)
        known = replace(known, plan=plan, version=course.version, router=router)
        if seen is None or seen.histogram.total <= 0:
            return known
        known.rows = seen.rows
        if plan is not None and _drifted(plan, known.history, seen.histogram):
            known.history = HistogramHistory(known.history.length, known.history.fade)
        known.history.add(seen.histogram)
        if known.scaler is not None and interval is not None:
            decision = known.scaler.observe(seconds, interval, seen.rows, seen.histogram.distinct)
            known.scaling = decision.reason
        return known


def _facts(router: Router | None) -> dict[str, Any] | None:
    """Return what must not change where a router is to go on from its state."""
    return None if router is None else {"name": router.name, **router.parameters()}


def _new_routers(before: dict[str, Any] | None, now: dict[str, Any] | None) -> tuple[bool, str]:
    """Tell whether routers start anew, and why or why not."""
    if before == now:
        return False, "routers go on from what they know"
    if before is None or now is None:
        return True, "routers start in the map tasks"
    changed = sorted(
        name for name in before.keys() | now.keys() if before.get(name) != now.get(name)
    )
    words = ", ".join(f"{name} {before.get(name)!r} to {now.get(name)!r}" for name in changed)
    return True, f"routers start anew: {words}"


def _drifted(plan: Plan, history: HistogramHistory, newest: Histogram) -> bool:
    if len(history) == 0:
        return False
    before = max_over_mean(plan.loads(history.blend()))
    return max_over_mean(plan.loads(newest)) > DRIFT * before
