"""What steering decides, without a Spark session: it works on histograms and plans alone."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab import Histogram, Plan, hash_keys, planner, router
from trimtab.control.autoscale import AutoScaler
from trimtab.errors import InvalidArgument, SplitKeysRefused
from trimtab.spark.counting.observed import Observed
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.steering import Knowledge, Steering

HOT = Histogram.from_counts({1: 500.0, 2: 100.0}, total=1000.0, distinct=50)


def seen(histogram: Histogram = HOT) -> Observed:
    rows = int(histogram.total)
    return Observed(rows, 0, 0, None, None, None, histogram, None, None, 8.0)


def uncounted(hosts: int, top: int) -> Histogram:
    raise AssertionError("nothing was to be counted")


def after(steering: Steering, batches: int) -> tuple[Knowledge, Course]:
    known = steering.start()
    for _ in range(batches):
        course = steering.course(known, uncounted)
        known = steering.learned(known, course, seen(), 1.0, None)
    return known, steering.course(known, uncounted)


def test_a_planner_plans_from_what_earlier_batches_have_shown() -> None:
    first = Steering("kip", 4, split=False).course(Knowledge(), uncounted)
    assert first.route.plan is not None
    assert len(first.route.plan) == 0
    _, second = after(Steering("kip", 4, split=False), 1)
    assert second.changed
    assert second.route.plan is not None
    assert 1 in second.route.plan.keys.tolist()


def test_prompt_counts_the_batch_first() -> None:
    asked = []

    def count(hosts: int, top: int) -> Histogram:
        asked.append(hosts)
        return HOT

    course = Steering("prompt", 4, split=True).course(Knowledge(), count)
    assert asked == [4]
    assert course.route.splits_keys


def test_a_plan_that_was_given_stays_for_good() -> None:
    plan = Plan(4, {1: 3})
    known, course = after(Steering(plan, 4, split=False), 2)
    assert course.route.plan == plan
    assert (course.version, course.changed) == (1, False)
    assert known.plan == plan


def test_a_router_that_was_given_is_what_tasks_start_from() -> None:
    learned = router("pkg", lanes=4, seed=5)
    learned.route(hash_keys(list("aaabbbccc")))
    _, course = after(Steering(learned, 4, split=True), 1)
    assert course.route.router is learned
    assert course.route.router.loads().sum() == 9


def test_a_name_takes_parameters_and_streams_have_settings_of_their_own() -> None:
    course = Steering("dalton", 4, split=True, parameters={"heat": 0.25}, seed=3).course(
        Knowledge(), uncounted
    )
    assert course.route.router is not None
    made = course.route.router.parameters()
    assert (made["heat"], made["cooperate"], made["slides"], made["seed"]) == (0.25, True, 1, 3)


@pytest.mark.parametrize(
    ("given", "options", "error", "words"),
    [
        pytest.param("pkg", {}, SplitKeysRefused, "every key in one place", id="it splits"),
        pytest.param(planner("kip", lanes=3), {}, InvalidArgument, "3 lanes", id="other lanes"),
        pytest.param("kip", {"parameters": {"x": 1}}, InvalidArgument, "'x'", id="no such one"),
        pytest.param(
            Plan(4), {"scaler": AutoScaler(map_tasks=4, reduce_tasks=4)}, InvalidArgument, "by name"
        ),
        pytest.param(
            router("ch", lanes=4), {"parameters": {"seed": 1}}, InvalidArgument, "go with a name"
        ),
    ],
)
def test_what_is_refused_is_refused_at_the_call(
    given: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        Steering(given, 4, split=False, **options)


def test_lanes_follow_the_scaler() -> None:
    scaler = AutoScaler(map_tasks=4, reduce_tasks=2)
    steering = Steering("trim", 4, split=True, scaler=scaler)
    known = steering.start()
    assert steering.course(known, uncounted).reduce_tasks == 2
    assert known.scaler is not None
    known.scaler.map_tasks = 6
    course = steering.course(known, uncounted)
    assert course.route.lanes == 6
    assert course.route.plan is not None
    assert course.route.plan.lanes == 6
