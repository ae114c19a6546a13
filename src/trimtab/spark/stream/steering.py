"""Deciding, batch by batch, where rows go: the plan, whether a new one pays, how many tasks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from trimtab._checks import lane_count, seed_number
from trimtab.control.autoscale import AutoScaler
from trimtab.control.repartitioner import Repartitioner
from trimtab.errors import CorruptState, InvalidArgument, SplitKeysRefused, UnknownName
from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.plan import Plan
from trimtab.planners import PLANNERS, Planner, planner_class
from trimtab.routers import ROUTERS, router_class
from trimtab.sketches.histogram_history import HistogramHistory
from trimtab.spark.counting.observed import MOST_KEYS, Observed
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS

WHOLE_IN_EVERY_TASK = ("hash", "ch")
"""Routers that give a key the same lane in every map task; all others may differ between tasks."""

DRIFT = 1.1
"""Where the running plan is this much less level on the newest batch than on those before, what was
known of the keys has passed: old histograms are forgotten instead of fading."""


@dataclass(frozen=True)
class Route:
    """How one batch routes: recorded before it runs, followed to the letter when it runs again.

    Either `plan` or `router` is given. `version` counts plans from 1 on.
    """

    lanes: int
    reduce_tasks: int | None
    plan: Plan | None
    router: str | None
    parameters: dict[str, Any]
    version: int
    changed: bool
    reason: str
    moved: float = 0.0
    scaling: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the route as a checkpoint holds it."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**fields, "plan": None if self.plan is None else self.plan.to_json()}

    @classmethod
    def from_record(cls, record: dict[str, Any], source: str) -> Self:
        """Read what `to_record` gave; `source` names the file in errors."""
        try:
            fields = {name: record[name] for name in cls.__dataclass_fields__}
            text = fields["plan"]
            fields["plan"] = None if text is None else Plan.from_json(text, source)
            return cls(**fields)
        except (KeyError, TypeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error


@dataclass
class Memory:
    """What steering knows after a batch."""

    history: HistogramHistory = field(default_factory=lambda: HistogramHistory(length=4, fade=0.5))
    # No state hangs on a lane here, so that following the keys costs nothing and one batch decides.
    judge: Repartitioner = field(default_factory=lambda: Repartitioner(move_cost=0.0, memory=1))
    scaler: AutoScaler | None = None
    scaling: str = ""
    plan: Plan | None = None
    version: int = 0
    rows: int = 0

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
        }

    @classmethod
    def restore(cls, state: dict[str, Any], source: str) -> Self:
        """Read what `state` gave; `source` names the file in errors."""
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
            )
        except (KeyError, TypeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error


class Steering:
    """Choose the route of each batch from what earlier batches have shown.

    Parameters
    ----------
    partitioner
        Registry name of a planner or a router, or a planner. Names of both are planners here.
    lanes
        Number of lanes; with a scaler, the number to start with.
    split
        Whether the operator can work with split keys.
    seed
        For routers.
    scaler
        Sets lanes and reduce tasks after each batch.
    """

    def __init__(
        self,
        partitioner: str | Planner,
        lanes: int,
        *,
        split: bool,
        seed: int = 0,
        scaler: AutoScaler | None = None,
    ) -> None:
        self.lanes = lane_count(lanes)
        self.split = split
        self.seed = seed_number(seed)
        self.scaler = scaler
        self.planner, self.router = self._chosen(partitioner)

    def _chosen(self, partitioner: object) -> tuple[str | Planner | None, str | None]:
        if isinstance(partitioner, Planner):
            if self.scaler is not None:
                raise InvalidArgument(
                    "with autoscale the number of lanes changes; give the partitioner by name"
                )
            if partitioner.lanes != self.lanes:
                raise InvalidArgument(
                    f"the planner was made for {partitioner.lanes} lanes, the stream has "
                    f"{self.lanes}; give both the same number"
                )
            self._allow(partitioner.name, partitioner.splits_keys)
            return partitioner, None
        if not isinstance(partitioner, str):
            raise InvalidArgument(
                f"partitioner must be a name or a planner; got {partitioner!r} of type "
                f"{type(partitioner).__name__}"
            )
        if partitioner in PLANNERS:
            self._allow(partitioner, self._named_planner(partitioner, self.lanes).splits_keys)
            return partitioner, None
        if partitioner not in ROUTERS:
            raise UnknownName("partitioner", partitioner, {*PLANNERS, *ROUTERS})
        self._allow(partitioner, partitioner not in WHOLE_IN_EVERY_TASK)
        return None, partitioner

    def _allow(self, name: str, splits: bool) -> None:
        if splits and not self.split:
            raise SplitKeysRefused(
                f"partitioner {name!r} may put a key on several lanes, and this operator needs "
                "every key in one place; use 'trim', 'kip' or 'hash'"
            )

    def _named_planner(self, name: str, lanes: int) -> Planner:
        cls = planner_class(name)
        parameters: dict[str, Any] = {"lanes": lanes}
        if "split" in inspect.signature(cls.__init__).parameters:
            parameters["split"] = self.split
        return cls(**parameters)

    @property
    def name(self) -> str:
        """The partitioner's registry name."""
        if self.router is not None:
            return self.router
        return self.planner.name if isinstance(self.planner, Planner) else str(self.planner)

    @property
    def counts_first(self) -> bool:
        """Whether a batch is planned from its own keys, counted before it runs."""
        return self.name == "prompt"

    def start(self) -> Memory:
        """Return the memory of a stream that has seen nothing."""
        return Memory(scaler=self.scaler)

    def hosts(self, route: Route) -> int:
        """Return the number of hosts to count keys by, so that the planner can use the counts."""
        if route.plan is None or self.counts_first or self.name == "hash":
            return 0
        hosts = route.plan.hosts.size
        return max(n for n in range(1, min(hosts, MOST_KEYS - 1) + 1) if hosts % n == 0)

    def route(self, memory: Memory, count: Callable[[int, int], Histogram]) -> Route:
        """Choose the route of the next batch.

        `count` counts the keys of that batch itself, by so many hosts and with so many heavy keys.
        """
        lanes, tasks = self.lanes, None
        if memory.scaler is not None:
            lanes, tasks = memory.scaler.map_tasks, memory.scaler.reduce_tasks
        if self.router is not None:
            return self._router_route(self.router, lanes, tasks, memory)
        planner = self.planner
        if not isinstance(planner, Planner):
            planner = self._named_planner(str(planner), lanes)
        running = memory.plan
        if self.counts_first:
            plan = planner.plan(count(lanes, MOST_INLINE_KEYS), running)
            changed, reason, moved = plan != running, "planned from the batch's own counts", 0.0
        elif len(memory.history) == 0:
            plan = planner.plan(Histogram.from_counts({}), running)
            changed, reason, moved = running is None, "nothing is known of the keys yet", 0.0
        else:
            newest = list(memory.history)[-1]
            candidate = planner.plan(memory.history.blend(top=MOST_INLINE_KEYS), running)
            decision = memory.judge.decide(running or Plan(lanes), candidate, newest)
            plan, changed = decision.plan, decision.change
            reason, moved = decision.reason, decision.moved
        version = memory.version + (1 if changed or memory.version == 0 else 0)
        return Route(lanes, tasks, plan, None, {}, version, changed, reason, moved, memory.scaling)

    def _router_route(self, name: str, lanes: int, tasks: int | None, memory: Memory) -> Route:
        cls = router_class(name)
        parameters: dict[str, Any] = {"lanes": lanes, "seed": self.seed}
        accepted = inspect.signature(cls.__init__).parameters
        if "cooperate" in accepted:
            parameters["cooperate"] = True
        if "slides" in accepted:
            # Lanes are to be level in each batch: what earlier batches had does not make up for it.
            parameters["slides"] = 1
        cls(**parameters)
        first = memory.version == 0
        reason = "routers start in the map tasks" if first else "routers go on from their states"
        return Route(lanes, tasks, None, name, parameters, 1, first, reason, scaling=memory.scaling)

    def learned(
        self,
        memory: Memory,
        route: Route,
        seen: Observed | None,
        seconds: float,
        interval: float | None,
    ) -> Memory:
        """Return the memory after a batch that took `seconds` of an `interval`."""
        memory = replace(memory, plan=route.plan, version=route.version)
        if seen is None or seen.histogram.total <= 0:
            return memory
        memory.rows = seen.rows
        if route.plan is not None and _drifted(route.plan, memory.history, seen.histogram):
            memory.history = HistogramHistory(memory.history.length, memory.history.fade)
        memory.history.add(seen.histogram)
        if memory.scaler is not None and interval is not None:
            decision = memory.scaler.observe(seconds, interval, seen.rows, seen.histogram.distinct)
            memory.scaling = decision.reason
        return memory


def _drifted(plan: Plan, history: HistogramHistory, newest: Histogram) -> bool:
    if len(history) == 0:
        return False
    before = max_over_mean(plan.loads(history.blend()))
    return max_over_mean(plan.loads(newest)) > DRIFT * before
