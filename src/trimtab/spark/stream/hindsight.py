"""What a batch turned out to be: how level, and whether what was known of the keys has passed."""

from __future__ import annotations

import math

from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.spark.counting.observed import Observed
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS
from trimtab.spark.stream.batch_plan import capacities_of
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.looking import Outcome
from trimtab.spark.stream.scaling import Seconds

DRIFT = 1.1
"""Where the running plan is this much less level on the newest batch than on those before, what was
known of the keys has passed: old histograms are forgotten instead of fading."""

NOISE_SIGMAS = 4.0
"""Standard deviations of a lane's rows within which a batch is as level as a look has promised."""


def outcome_of(
    planner: Planner, plan: Plan, past: Plan, seen: Observed, keys: Histogram, seconds: Seconds
) -> Outcome | None:
    """Say how level a batch was, and could have been; None if its rows were on no lane.

    `keys` are those that were seen, by what they cost.
    """
    if seen.loads is None:
        return None
    speeds = capacities_of(planner)

    def level(by: Plan) -> float:
        return max_over_mean(by.loads(keys), speeds)

    return Outcome(
        was=max_over_mean(seen.loads, speeds) if keys is seen.histogram else level(plan),
        by_past=level(past),
        by_hash=level(Plan(planner.lanes)),
        best=min(level(plan), level(planner.plan(keys.top(MOST_INLINE_KEYS), plan, exact=True))),
        seconds=seconds.running,
        share_of_slots=seconds.share_of_slots,
        noise=NOISE_SIGMAS * math.sqrt(planner.lanes / max(1.0, keys.total)),
    )


def drifted(plan: Plan, known: Knowledge, newest: Histogram) -> bool:
    """Tell whether a plan is clearly less level on the newest batch than on those before it."""
    if len(known.history) == 0:
        return False

    def level(keys: Histogram) -> float:
        return max_over_mean(plan.loads(known.costs.weighed(keys, plan.lanes)))

    return level(newest) > DRIFT * level(known.history.blend())
