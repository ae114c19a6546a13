"""The line of a batch in the event log, from figures alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trimtab import Histogram, Plan, router
from trimtab.spark.counting.observed import Observed
from trimtab.spark.routing.route import Route
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.event import event_of
from trimtab.spark.stream.looking import KEEP, Look

KEYS = Histogram.from_counts({1: 60.0, 2: 10.0}, total=100.0, distinct=8)


def seen(loads: list[float] | None, pairs: int | None = None) -> Observed:
    on_lanes = None if loads is None else np.array(loads)
    return Observed(100, 3, 1, None, None, None, KEYS, on_lanes, pairs, 8.0)


def course(plan: Plan | None = None) -> Course:
    made = None if plan is not None else router("pkg", lanes=2)
    expected = (0.5, 0.125)
    route = Route(2, "kip", False, plan, made)
    return Course(route, None, 3, True, "it pays", 0.25, expected=expected, weighed_by="seconds")


def test_a_line_has_the_figures_of_the_batch_and_is_json() -> None:
    event = event_of(7, course(Plan(2, {1: 0})), seen([70.0, 30.0]), on_lanes=True)
    assert json.loads(json.dumps(event)) == event
    assert (event["batch"], event["rows"], event["loads"]) == (7, 100, [70.0, 30.0])
    assert event["max_over_mean"] == pytest.approx(1.4)
    assert (event["plan_version"], event["changed"], event["moved"]) == (3, True, 0.25)
    assert event["hottest"][0]["share"] == 0.6
    assert event["bytes_moved"] == 800
    assert (event["expected"], event["weighed_by"]) == ({"gain": 0.5, "cost": 0.125}, "seconds")


def test_a_line_says_whether_the_keys_were_looked_at_and_why() -> None:
    route = course(Plan(2, {1: 0})).route
    look = Look(KEEP, "a look takes less", seconds=0.2, rows=90, exact=True)
    event = event_of(7, Course(route, None, 1, False, "it pays", look=look), None, on_lanes=True)
    assert event["look"] == {
        "how": "rows kept",
        "reason": "a look takes less",
        "seconds": 0.2,
        "rows": 90,
        "exact": True,
    }
    assert json.loads(json.dumps(event)) == event


def test_rows_that_were_on_no_lane_have_no_loads() -> None:
    event = event_of(7, course(Plan(2)), seen(None), on_lanes=False)
    assert (event["loads"], event["max_over_mean"], event["bytes_moved"]) == ([], None, 0)


def test_copies_of_keys_are_counted_or_known_from_the_plan() -> None:
    split = Plan(2, {1: [(0, 0.5), (1, 0.5)]})
    assert event_of(0, course(split), seen([50.0, 50.0]), on_lanes=True)["replication"] == 1.125
    counted = event_of(0, course(), seen([50.0, 50.0], pairs=12), on_lanes=True)
    assert counted["replication"] == 1.5


def test_a_batch_that_nobody_looked_at_has_a_line_without_figures() -> None:
    event = event_of(7, course(Plan(2)), None, on_lanes=True)
    assert "rows" not in event
    assert event["reason"] == "it pays"
