"""What the autoscaler hears of batches, and when they were triggered."""

from __future__ import annotations

import time

import numpy as np
import pytest

from trimtab import Histogram
from trimtab.control.autoscale import AutoScaler
from trimtab.control.machines import LaneTimes
from trimtab.journal.spark_offsets import Offsets
from trimtab.spark.counting.observed import Observed
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.scaling import Seconds, scale, triggered

SEEN = Observed(
    *(900, 0, 0, None, None, None, Histogram.from_counts({1: 9.0}, total=900.0), None, None, 8.0)
)
TIMES = LaneTimes(np.full(4, 225.0), np.zeros(4), np.full(4, 4.0), ("a/0",) * 4)


def known() -> Knowledge:
    return Knowledge(scaler=AutoScaler(4, 4, batches=1))


def test_measured_work_makes_it_jump() -> None:
    found = known()
    scale(found, SEEN, Seconds(4.1, 4.0, interval=1.0, triggered=100.0), TIMES)
    assert found.scaler is not None
    assert found.scaler.map_tasks == 22
    assert found.triggered == 100.0
    assert "measured work" in found.scaling


def test_the_time_before_the_call_counts() -> None:
    found = known()
    scale(found, SEEN, Seconds(0.5, 0.4, interval=1.0, triggered=100.0, before=0.45), None)
    assert "overloaded" in found.scaling


def test_a_batch_without_rows_counts() -> None:
    found = known()
    scale(found, None, Seconds(0.1, 0.0, interval=1.0, triggered=100.0), None)
    assert found.scaler is not None
    assert found.scaler.map_tasks == 3


def test_without_an_interval_or_a_scaler_nothing_is_scaled() -> None:
    found = known()
    scale(found, SEEN, Seconds(9.0, 9.0), TIMES)
    assert found.scaling == ""
    plain = Knowledge()
    scale(plain, SEEN, Seconds(9.0, 9.0, interval=1.0), TIMES)
    assert plain.scaling == ""


def test_a_trigger_begins_with_the_planning_unless_the_batch_runs_again() -> None:
    now = time.time()
    just_now = Offsets((), 0, int((now - 3) * 1000))
    at, before = triggered(just_now, ago=2.0)
    assert (at, before) == (pytest.approx(now - 3, abs=0.1), pytest.approx(1.0, abs=0.1))
    long_ago = Offsets((), 0, int((now - 500) * 1000))
    assert triggered(long_ago, ago=2.0) == (pytest.approx(now - 2, abs=0.1), 0.0)
    assert triggered(None, ago=2.0) == (pytest.approx(now - 2, abs=0.1), 0.0)
