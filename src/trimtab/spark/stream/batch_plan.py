"""A plan for a batch from its own keys, and whether it is worth having."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.control.repartitioner import Decision
from trimtab.histogram import Histogram
from trimtab.metrics import lower_bound, max_over_mean
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS

LEAST_GAIN = 0.03
"""By how much max/mean of a batch that was looked at must fall for a plan to change: what is gained
by less is less than what tells two runs of the same batch apart."""

LEVEL = 1.02
"""A plan that is less level than this is made again from more of the keys, if there are more."""


def capacities_of(planner: Planner) -> NDArray[np.float64] | None:
    """Return the relative speeds of lanes that a planner plans for; None if it knows of none."""
    found: NDArray[np.float64] | None = getattr(planner, "capacities", None)
    return found


def unweighed(plan: Plan, change: bool, reason: str, moved: float = 0.0) -> Decision:
    """Return a decision for which nothing had to be weighed."""
    return Decision(change, plan, reason, 0.0, 0.0, moved)


def plan_by_look(planner: Planner, running: Plan | None, keys: Histogram) -> Decision:
    """Plan a batch from its own keys and the plan before it."""
    if keys.total <= 0:
        plan = planner.plan(Histogram.from_counts({}), running)
        return unweighed(plan, plan != running, "the batch has no rows")
    candidate = _level_plan(planner, keys, running)
    speeds = capacities_of(planner)
    then = max_over_mean(candidate.loads(keys), speeds)
    if running is None or running.lanes != planner.lanes:
        moved = 0.0 if running is None else running.moved(candidate, keys)
        reason = f"planned from the batch's own keys: max/mean {then:.2f}"
        return unweighed(candidate, True, reason, moved)
    now = max_over_mean(running.loads(keys), speeds)
    if now - then < LEAST_GAIN and not (running.splits_keys and not planner.splits_keys):
        reason = f"keep: max/mean of the batch's own keys is {now:.2f}, and would be {then:.2f}"
        return unweighed(running, False, reason)
    moved = running.moved(candidate, keys)
    reason = (
        f"change: max/mean of the batch's own keys falls from {now:.2f} to {then:.2f}, moving "
        f"{moved:.1%} of the rows"
    )
    return Decision(True, candidate, reason, now - then, 0.0, moved)


def _level_plan(planner: Planner, keys: Histogram, running: Plan | None) -> Plan:
    """Plan from the heaviest keys, and from more of them where these are not enough."""
    top = MOST_INLINE_KEYS
    bound = lower_bound(
        keys.weights, planner.lanes, total=keys.total, splits_keys=planner.splits_keys
    )
    speeds = capacities_of(planner)
    while True:
        plan = planner.plan(keys.top(top), running, exact=True)
        level = bound if speeds is None else bound * np.asarray(speeds)
        if top >= len(keys) or (plan.loads(keys) <= LEVEL * level).all():
            return plan
        top *= 8
