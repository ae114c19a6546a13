"""Deciding, batch by batch, where rows go: the plan, whether a new one pays, how many tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trimtab._checks import one_of
from trimtab.control.autoscale import AutoScaler
from trimtab.control.key_costs import KeyCosts, KeySeconds
from trimtab.control.machines import LaneTimes
from trimtab.control.repartitioner import Decision, Repartitioner
from trimtab.control.virtual_workers import LEAST_GAIN as LEAST_GAIN_OF_LANES
from trimtab.control.virtual_workers import LaneChoice, choose_lanes
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.partitioners import Given, Partitioner, resolve
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.routers import Router
from trimtab.sketches.histogram_history import HistogramHistory
from trimtab.spark.counting.look import Looked
from trimtab.spark.counting.observed import MOST_KEYS, Observed
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS
from trimtab.spark.routing.route import Route
from trimtab.spark.stream.batch_plan import capacities_of, plan_by_look, unweighed
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.hindsight import drifted, outcome_of
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.looking import KINDS, Look
from trimtab.spark.stream.received_batch import Told
from trimtab.spark.stream.scaling import Seconds, scale

LEAST_GAIN_WITH_STATE = 0.2
"""By which share a batch must get shorter for another number of lanes, where that moves state."""

MEASURED = "measured"
"""What is given as `capacities` where lanes' shares are to follow their measured speeds."""

MOST_HOSTS = 1 << 16
"""Hosts that a look counts by, at most, unless a planner asks for more."""


@dataclass(frozen=True)
class Glance:
    """How a batch is to be looked at.

    Attributes
    ----------
    look
        What was decided.
    lanes, hosts
        Number of lanes to plan for, and of hosts to count by.
    exact
        Whether every row is counted; otherwise a sample is.
    """

    look: Look
    lanes: int
    hosts: int
    exact: bool


TakeLook = Callable[[Glance], tuple[Look, Looked]]
"""Looks at the keys of a batch; returns what was decided with what it took, and what was seen."""


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
    look
        Whether the keys of a batch are looked at before it is planned: "always", "never", or
        "auto", where that is expected to pay. A planner that counts the batch first always does.
    judge
        Parameters of `trimtab.control.repartitioner.Repartitioner`, where keys have state that
        moves with them; without, following the keys costs nothing.
    weigh_by
        "rows", or "auto": seconds where these were measured and differ.
    auto
        Whether the number of lanes follows the machines; `lanes` is then the one to start with.
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
        look: str = "auto",
        judge: Mapping[str, Any] | None = None,
        weigh_by: str = "auto",
        auto: bool = False,
    ) -> None:
        self.auto = auto
        self.by_time = one_of("weigh_by", weigh_by, ("auto", "rows")) == "auto"
        self.look = one_of("look", look, KINDS)
        self.judge = None if judge is None else dict(judge)
        Repartitioner(**self.judge or {})
        self.measures = (parameters or {}).get("capacities") == MEASURED
        if self.measures:
            parameters = {**(parameters or {}), "capacities": None}
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
        known = Knowledge(scaler=self.scaler)
        return self.as_set(known)

    def as_set(self, known: Knowledge) -> Knowledge:
        """Return what is known, weighed and judged as was set when the query started."""
        if not self.by_time:
            known = replace(known, costs=KeyCosts())
        if self.judge is None:
            return known
        judge = Repartitioner(**self.judge).state()
        if known.version > 0:
            past = known.judge.state()
            learned = {name: past["parameters"][name] for name in ("move_cost", "keys")}
            judge = {**past, "parameters": {**judge["parameters"], **learned}}
        return replace(known, judge=Repartitioner.restore(judge))

    def hosts(self, route: Route) -> int:
        """Return the number of hosts to count keys by, so that the planner can use the counts."""
        given = self.partitioner
        if route.plan is None or given.counts_batch_first or not given.needs_counts:
            return 0
        hosts = route.plan.hosts.size
        return max(n for n in range(1, min(hosts, MOST_KEYS - 1) + 1) if hosts % n == 0)

    def _with_speeds(
        self, given: Partitioner, known: Knowledge, shares: Sequence[float] | None
    ) -> Partitioner:
        """Return the partitioner with what its lanes are to have, if they are not to be equal."""
        if shares and self._may_be_unequal:
            return given.with_parameters({"capacities": shares})
        if not self.measures or known.lane_speeds.lanes != given.lanes:
            return given
        return given.with_parameters({"capacities": known.lane_speeds.capacities()})

    def _lanes(self, known: Knowledge, slots: int | None) -> LaneChoice:
        """Choose the number of lanes, where it follows the machines."""
        given, now = self.partitioner, known.lanes
        if not self.auto or given.fixed:
            return LaneChoice(given.lanes, "")
        if given.arguments.get("capacities") is not None:
            return LaneChoice(given.lanes, "the lanes' speeds were given")
        if self.measures:
            return LaneChoice(now or given.lanes, "shares follow the lanes' measured speeds")
        if given.planner is None:
            return LaneChoice(now or given.lanes, "routers keep the lanes that they began with")
        gain = LEAST_GAIN_OF_LANES if self.judge is None else LEAST_GAIN_WITH_STATE
        return choose_lanes(
            *(slots or given.lanes, known.machines, now),
            least_gain=gain,
            unequal=self._may_be_unequal,
            # Another planner than the last batch had may know of equal lanes only.
            shares=(known.shares or None) if self._may_be_unequal else None,
        )

    @property
    def _may_be_unequal(self) -> bool:
        """Whether lanes may be of several sizes: not where states would move with them."""
        planner = self.partitioner.planner
        takes = planner is not None and type(planner).takes_parameter("capacities")
        return self.judge is None and takes

    def course(
        self,
        known: Knowledge,
        take_look: TakeLook,
        *,
        moves_rows: bool = True,
        slots: int | None = None,
        told: Told | None = None,
    ) -> Course:
        """Choose the course of the next batch.

        Parameters
        ----------
        known
            What is known after the batch before.
        take_look
            Looks at the keys of the batch itself; called where that is expected to pay.
        moves_rows
            Whether rows are going to move to their lanes: if not, nothing depends on a plan.
        slots
            Tasks that run at once; None where Spark does not tell.
        told
            What receivers tell of the batch, if its rows come from there.
        """
        free = self.partitioner.needs_counts and not self.partitioner.fixed
        if told is not None and free and not moves_rows:
            return told.course(known)
        if known.scaler is None:
            choice, tasks = self._lanes(known, slots), None
        else:
            choice = LaneChoice(known.scaler.map_tasks, known.scaling)
            tasks = known.scaler.reduce_tasks
        lanes = choice.lanes
        given = self._with_speeds(self.partitioner.for_lanes(lanes), known, choice.shares)
        counted, by_time, moved, expected = None, False, 0.0, None
        look = Look(reason="where rows go does not depend on the keys")
        if given.planner is not None:
            look, looked = self._looked(given, known, take_look, moves_rows, told)
            if looked is None:
                made = self._by_past(given.planner, known)
                past = known.newest
                by_time = past is not None and known.costs.weighed(past, lanes) is not past
            else:
                keys = known.costs.weighed(looked.histogram, lanes, exact=looked.exact)
                by_time = keys is not looked.histogram
                made = plan_by_look(given.planner, known.plan, keys)
                speeds = capacities_of(given.planner)
                if made.change and self.judge is not None and known.plan is not None:
                    made = known.judge.decide(known.plan, made.plan, keys, speeds)
                falling = self.judge is None and choice.shares is None
                if made.change and falling and lanes > (slots or lanes):
                    # Spark starts tasks in the order of lanes: the longest should not come last.
                    made = replace(made, plan=made.plan.by_falling_load(keys))
                look = replace(look, promised=max_over_mean(made.plan.loads(keys), speeds))
            plan, changed, reason = made.plan, made.change, made.reason
            splits = plan.splits_keys
            if changed:
                moved, expected = made.moved, (made.gain, made.cost)
        elif given.plan is not None:
            plan, splits = given.plan, given.splits_keys
            changed, reason = plan != known.plan, "the plan was given"
        else:
            plan, splits = None, given.splits_keys
            changed, reason = _new_routers(known.router, _facts(given.router))
            look, counted = self._told(given, known, take_look, moves_rows)
        if plan is not None and known.router is not None:
            changed, reason = True, f"a plan follows routers; {reason}"
        version = known.version + (1 if changed or known.version == 0 else 0)
        route = Route(lanes, given.name, splits, plan, given.router, counted)
        go_on = given.router is not None and not changed
        weighed_by = "seconds" if by_time else "rows"
        return Course(
            *(route, tasks, version, changed, reason, moved, choice.reason, go_on, look),
            expected=expected,
            weighed_by=weighed_by,
            shares=choice.shares or (),
        )

    def _looked(
        self,
        given: Partitioner,
        known: Knowledge,
        take_look: TakeLook,
        moves_rows: bool,
        told: Told | None,
    ) -> tuple[Look, Looked | None]:
        """Look at the batch, if that is expected to pay; where a receiver has, take its word."""
        if not given.needs_counts:
            return Look(reason="where rows go does not depend on the keys"), None
        if told is not None:
            return told.look(), told.looked()
        if given.counts_batch_first:
            look = Look(known.looking.cheaper, f"{given.name!r} plans from the batch's own counts")
        elif not moves_rows:
            look = Look(reason="rows are combined where the source has them")
        else:
            look = known.looking.decide(self.look)
        if not look.taken:
            return look, None
        hosts = given.hosts
        if given.counts_batch_first and given.planner is not None:
            # Who sees every key one by one needs no more of the rest than a sum per lane.
            hosts = given.planner.hosts or given.lanes
        if known.plan is not None:
            # Counted so, the load that the running plan would have is known as well.
            both = math.lcm(hosts, known.plan.hosts.size)
            hosts = both if both <= MOST_HOSTS else hosts
        return take_look(Glance(look, given.lanes, hosts, given.counts_batch_first))

    def _told(
        self, given: Partitioner, known: Knowledge, take_look: TakeLook, moves_rows: bool
    ) -> tuple[Look, Histogram | None]:
        """Look at the batch for routers that heed what its keys are."""
        if given.router is None or not given.router.heeds_counts:
            return Look(reason="routers decide as rows come"), None
        if not moves_rows:
            return Look(reason="rows are combined where the source has them"), None
        if self.look == "never":
            return Look(reason="no batch is to be looked at"), None
        reason = f"{given.name!r} routers are told the batch's own keys"
        glance = Glance(Look(known.looking.cheaper, reason), given.lanes, 1, exact=False)
        look, looked = take_look(glance)
        return look, looked.histogram.top(MOST_INLINE_KEYS)

    def _by_past(self, planner: Planner, known: Knowledge) -> Decision:
        """Plan a batch from those before it."""
        running, newest = known.plan, known.newest
        if newest is None:
            plan = planner.plan(Histogram.from_counts({}), running)
            return unweighed(plan, running is None, "nothing is known of the keys yet")
        costs = known.costs
        past = costs.weighed(known.history.blend(top=MOST_INLINE_KEYS), planner.lanes)
        candidate = planner.plan(past, running)
        # A plan without heavy keys is a plan: where it is kept, no row may change its lane.
        before = Plan(planner.lanes) if running is None else running
        newest = costs.weighed(newest, planner.lanes)
        return known.judge.decide(before, candidate, newest, capacities_of(planner))

    def learned(
        self,
        known: Knowledge,
        course: Course,
        seen: Observed | None,
        seconds: Seconds,
        state: tuple[int | None, float | None] = (None, None),
        *,
        spent: KeySeconds | None = None,
        times: LaneTimes | None = None,
    ) -> Knowledge:
        """Return what is known after a batch.

        `seconds` says how long it took, `state` how many keys have a state, and what moving all of
        it would cost, in batches, `spent` how long keys took, `times` when its lanes were worked
        on: as far as each is known.
        """
        states, move_cost = state
        known.judge.keys = states or None
        if move_cost is not None:
            known.judge.move_cost = move_cost
        plan = course.route.plan
        router = _facts(course.route.router)
        shares = course.shares
        given = self._with_speeds(self.partitioner.for_lanes(course.route.lanes), known, shares)
        planner = given.planner
        before = known
        costs = known.costs.after(spent) if spent is not None and self.by_time else known.costs
        known = replace(known, plan=plan, version=course.version, router=router, costs=costs)
        known.shares = shares
        if times is not None:
            known.machines = known.machines.after(times)
            known.lane_speeds = known.lane_speeds.after(times)
        scale(known, seen, seconds, times)
        if seen is None or seen.histogram.total <= 0:
            known.looking = known.looking.after(course.look, None)
            return known
        known.rows = seen.rows
        known.partitions = None if seen.source is None else max(1, seen.source.size)
        outcome = None
        past = plan
        if planner is not None and planner.needs_counts and plan is not None:
            past = self._by_past(planner, before).plan if course.look.taken else plan
            keys = known.costs.weighed(seen.histogram, planner.lanes)
            outcome = outcome_of(planner, plan, past, seen, keys, seconds)
        known.looking = known.looking.after(course.look, outcome)
        if past is not None and drifted(past, known, seen.histogram):
            known.history = HistogramHistory(known.history.length, known.history.fade)
        known.history.add(seen.histogram)
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
