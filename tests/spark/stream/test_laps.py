"""The stopwatch of a batch."""

from __future__ import annotations

import time

from trimtab.spark.stream.laps import Laps


def test_laps_of_one_name_add_up_and_the_log_has_the_sum_of_its_parts() -> None:
    started = time.perf_counter() - 10.0
    laps = Laps(started)
    laps.end("preparing")
    laps.end("combining")
    laps.end("preparing")
    event = laps.to_event(planned=started + 4.0, ran=started + 9.0)
    steps = event.pop("steps")
    assert set(steps) == {"preparing", "combining"}
    assert 10.0 <= steps["preparing"] < 11.0
    assert event["planning"] == 4.0
    assert event["running"] == 5.0
    total = event["planning"] + event["running"] + event["recording"]
    assert abs(total - event["total"]) < 0.001
