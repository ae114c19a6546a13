"""What a checkpoint says of earlier batches comes back, and what it does not fit is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab import router
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.event_log import EventLog
from trimtab.journal.spark_offsets import Offsets
from trimtab.spark.stream.operations.for_each_batch import ForEachBatch
from trimtab.spark.stream.past import Past
from trimtab.spark.stream.steering import Steering


@pytest.fixture
def place(tmp_path: Path) -> Checkpoint:
    place = Checkpoint(tmp_path, {})
    place.open()
    place.take_over()
    return place


def past_of(place: Checkpoint, given: Any = "trim") -> Past:
    return Past(place, Steering(given, 2, split=True), ForEachBatch(), EventLog(place.store))


def state(past: Past, **more: Any) -> dict[str, Any]:
    start = past.known_after(-1).steering
    start.rows = 70
    nothing = {"operation": {}, "reducer": None, "routers": None, "panes": {}}
    return {"steering": start.state(), **nothing, "event": {"batch": 3}, **more}


def test_what_a_batch_has_left_comes_back(place: Checkpoint) -> None:
    past = past_of(place)
    assert past.known_after(-1).steering.rows != 70
    place.write_state(3, state(past, reducer={"loads": [1, 2]}))
    known = past.known_after(3)
    assert (known.steering.rows, known.reducer) == (70, {"loads": [1, 2]})


def test_a_state_that_is_missing_or_damaged_is_named(place: Checkpoint) -> None:
    past = past_of(place)
    with pytest.raises(CorruptState, match=r"state/3\.json is missing"):
        past.known_after(3)
    damaged = state(past)
    del damaged["panes"]
    place.write_state(4, damaged)
    with pytest.raises(CorruptState, match=r"state/4\.json is damaged: it has no usable 'panes'"):
        past.known_after(4)


def test_a_batch_with_other_rows_than_before_is_refused(place: Checkpoint) -> None:
    past, before = past_of(place), {"sources": ["5"]}
    past.check_content(3, before, "plans", Offsets(("5",), 0))
    past.check_content(3, None, "plans", Offsets(("6",), 0))
    with pytest.raises(CorruptState, match=r"plans/3\.json tells of batch 3 .*\['5'\].*\['6'\]"):
        past.check_content(3, before, "plans", Offsets(("6",), 0))


def test_a_line_that_the_log_lacks_is_logged_once(place: Checkpoint) -> None:
    past = past_of(place)
    place.write_state(3, state(past))
    past.log_again(3)
    past.log_again(3)
    assert [event["batch"] for event in EventLog(place.store).events()] == [3]


def test_a_router_that_knows_something_else_is_refused(place: Checkpoint) -> None:
    given, other = router("pkg", lanes=2, seed=1), router("pkg", lanes=2, seed=2)
    place.write_plan(3, {"course": {"route": {"router": given.state()}}})
    past_of(place, given).check_router(3)
    past_of(place, "pkg").check_router(3)
    with pytest.raises(InvalidArgument, match="did not start from the router that was given"):
        past_of(place, other).check_router(3)
