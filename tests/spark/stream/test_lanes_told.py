"""Who is asked how long lanes took, and what the log says of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trimtab.control.machines import LaneTimes, Machines
from trimtab.spark.stream.lanes_told import event_of_lanes, times_of, why_untimed
from trimtab.spark.stream.operations.base import Keeping, Nothing, Results, Wanted

TIMES = LaneTimes(np.ones(2), np.zeros(2), np.ones(2), ("a/0", "a/0"))
RUNNING: Any = SimpleNamespace(batch=SimpleNamespace(lanes=2), session=None)


class Source:
    """Is asked, or must not be."""

    def __init__(self, answer: LaneTimes | None, *, asked: bool = True) -> None:
        self.answer = answer
        self.asked = asked

    def read(self, *given: Any) -> LaneTimes | None:
        assert self.asked
        return self.answer


NEVER = Source(None, asked=False)


@pytest.mark.parametrize(
    ("records", "clock", "kept", "found"),
    [
        pytest.param(NEVER, NEVER, TIMES, TIMES, id="the operation was told"),
        pytest.param(NEVER, Source(TIMES), None, TIMES, id="tasks have noted it"),
        pytest.param(Source(TIMES), Source(None), None, TIMES, id="tasks have noted nothing"),
        pytest.param(Source(TIMES), None, None, TIMES, id="Spark's own records"),
    ],
)
def test_who_knows_best_is_asked_first(
    records: Any, clock: Any, kept: LaneTimes | None, found: LaneTimes
) -> None:
    results, keeping = Results(None, clock=clock), Keeping(Nothing(), times=kept)
    assert times_of(records, RUNNING, Wanted(), results, keeping) is found


def test_rows_that_were_on_no_lane_have_no_times() -> None:
    never: Any = NEVER
    wanted = Wanted(on_lanes=False)
    assert times_of(never, RUNNING, wanted, Results(None), Keeping(Nothing())) is None


def test_on_classic_nothing_is_said_where_nobody_has_measured() -> None:
    seen: Any = SimpleNamespace(rows=3)
    assert why_untimed(RUNNING, Wanted(), seen, None) == {}


def test_the_log_tells_of_virtual_workers() -> None:
    course: Any = SimpleNamespace(route=SimpleNamespace(plan=None), shares=())
    kept = {"delegation": {}, "signals": [1, -1], "virtual_workers": [11, 9]}
    event = event_of_lanes(TIMES, Machines(), course, None, kept)
    assert event["delegation"] == {"signals": [1, -1], "virtual_workers": [11, 9]}
    assert event["lane_seconds"] == [1.0, 1.0]
    assert event_of_lanes(None, Machines(), course, None, None) == {}
