"""Plans from a batch's own keys: made, kept, or changed."""

from __future__ import annotations

import numpy as np

from trimtab import Histogram, planner
from trimtab.spark.stream.batch_plan import plan_by_look, unweighed

KEYS = Histogram.from_counts({1: 500.0, 2: 100.0}, total=1000.0, distinct=50)


def test_a_first_plan_is_made_and_then_kept() -> None:
    trim = planner("trim", lanes=4)
    first = plan_by_look(trim, None, KEYS)
    assert (first.change, first.moved) == (True, 0.0)
    assert "planned from the batch's own keys" in first.reason
    again = plan_by_look(trim, first.plan, KEYS)
    assert again.plan == first.plan
    assert not again.change


def test_another_number_of_lanes_is_another_plan() -> None:
    before = planner("trim", lanes=4).plan(KEYS)
    made = plan_by_look(planner("trim", lanes=7), before, KEYS)
    assert (made.plan.lanes, made.change) == (7, True)
    assert 0 < made.moved <= 1


def test_keys_that_move_are_followed() -> None:
    trim = planner("trim", lanes=4)
    before = trim.plan(Histogram.from_counts({9: 500.0}, total=1000.0, distinct=50))
    made = plan_by_look(trim, before, KEYS)
    assert made.change
    assert made.gain > 0.03
    assert "falls from" in made.reason


def test_a_batch_without_rows_changes_nothing() -> None:
    empty = Histogram.from_counts({})
    trim = planner("trim", lanes=4)
    plan = trim.plan(empty)
    assert plan_by_look(trim, plan, empty) == unweighed(plan, False, "the batch has no rows")


def test_more_keys_are_planned_where_the_heaviest_do_not_level() -> None:
    # 4,000 keys of one host: only by name can they be spread.
    counts = {int(key): 1.0 for key in np.arange(1, 4001, dtype=np.uint64) * np.uint64(1 << 20)}
    keys = Histogram.from_counts(counts)
    loads = plan_by_look(planner("kip", lanes=4), None, keys).plan.loads(keys)
    # By their host alone, one lane would have them all.
    assert loads.max() < 1.2 * loads.mean()
