"""The record of a course, which a batch that runs again follows to the letter."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab import Histogram
from trimtab import state as states
from trimtab.errors import CorruptState
from trimtab.spark.counting.look import Looked
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.looking import Look
from trimtab.spark.stream.steering import Glance, Steering


def looked(glance: Glance) -> tuple[Look, Looked]:
    found = Looked(Histogram.from_counts({1: 500.0, 2: 100.0}), 600, exact=True)
    return glance.look.showed(found, 0.25), found


@pytest.mark.parametrize("name", ["trim", "dalton", "hash"])
def test_a_course_is_read_back_as_it_was_recorded(name: str) -> None:
    course = Steering(name, 4, split=True).course(Knowledge(), looked)
    text = states.dump(course.to_record())
    again = Course.from_record(states.parse(text), "plans/3.json")
    assert (again.version, again.changed, again.reason) == (
        course.version,
        course.changed,
        course.reason,
    )
    assert again.look == course.look
    assert (again.expected, again.weighed_by) == (course.expected, course.weighed_by)
    assert course.look.taken == (name != "hash")
    assert again.route.plan == course.route.plan
    assert (again.route.router is None) == (course.route.router is None)
    if again.route.router is not None and course.route.router is not None:
        told, told_again = course.route.histogram, again.route.histogram
        assert (told is None) == (told_again is None) == (name != "dalton")
        if told is not None and told_again is not None:
            assert told_again.to_json() == told.to_json()
        hashes = np.arange(100, dtype=np.uint64)
        assert np.array_equal(again.route.router.route(hashes), course.route.router.route(hashes))


def test_a_damaged_course_is_refused_by_name() -> None:
    with pytest.raises(CorruptState, match=r"plans/3\.json is damaged"):
        Course.from_record({"version": 1}, "plans/3.json")


def test_a_course_that_was_recorded_before_there_were_blocks_is_read() -> None:
    record = Steering("trim", 4, split=True).course(Knowledge(), looked).to_record()
    del record["blocks"]
    assert Course.from_record(record, "plans/3.json").blocks == ()
