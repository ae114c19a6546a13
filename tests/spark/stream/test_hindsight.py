"""How level a batch was, could have been, and whether what was known of its keys still holds."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners import planner
from trimtab.spark.counting.observed import Observed
from trimtab.spark.stream.hindsight import DRIFT, drifted, outcome_of
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.scaling import Seconds

LANES = 4
TOOK = Seconds(3.0, 2.0, share_of_slots=0.5)


def keys(*hot: int, rest: int = 60) -> Histogram:
    """Some hot keys of 100 rows each, and as many light keys on every host."""
    light = np.arange(1_000, 1_000 + rest, dtype=np.uint64)
    rows = np.concatenate([np.repeat(np.array(hot, dtype=np.uint64), 100), np.repeat(light, 2)])
    return Histogram.from_hashes(rows, len(hot), hosts=LANES)


def watched(known: Histogram, loads: list[float] | None) -> Observed:
    held = None if loads is None else np.array(loads)
    return Observed(int(known.total), 0, 0, None, None, None, known, held, None, 8.0)


def test_a_batch_is_told_as_it_was_as_others_would_have_made_it_and_at_its_best() -> None:
    seen, trim = keys(4, 8), planner("trim", lanes=LANES)
    # Both hot keys hash to lane 0; the past has named one of them.
    past = trim.plan(keys(4))
    outcome = outcome_of(trim, Plan(LANES), past, watched(seen, [230, 30, 30, 30]), seen, TOOK)
    assert outcome is not None
    assert outcome.was == pytest.approx(230 / 80)
    assert outcome.by_hash == pytest.approx(230 / 80)
    assert 1.0 <= outcome.best < outcome.by_past < outcome.by_hash
    assert (outcome.seconds, outcome.share_of_slots) == (2.0, 0.5)
    assert outcome.noise > 0


def test_where_keys_are_weighed_by_cost_the_plan_is_judged_and_not_the_rows() -> None:
    seen, trim = keys(4), planner("trim", lanes=LANES)
    costly = keys(4, 5)
    outcome = outcome_of(trim, Plan(LANES), Plan(LANES), watched(seen, [1, 1, 1, 1]), costly, TOOK)
    assert outcome is not None
    assert outcome.was == pytest.approx(130 / 80)


def test_rows_that_were_on_no_lane_have_no_outcome() -> None:
    seen, trim = keys(4), planner("trim", lanes=LANES)
    assert outcome_of(trim, Plan(LANES), Plan(LANES), watched(seen, None), seen, TOOK) is None


def test_keys_have_passed_only_where_the_plan_is_clearly_less_level_than_it_was() -> None:
    known = Knowledge()
    plan = planner("trim", lanes=LANES).plan(keys(4))
    assert not drifted(plan, known, keys(8, 12))  # nothing was known
    known.history.add(keys(4))
    assert not drifted(plan, known, keys(4))
    assert not drifted(plan, known, keys(4, rest=72))
    assert drifted(plan, known, keys(8, 12))
    assert DRIFT > 1.0
