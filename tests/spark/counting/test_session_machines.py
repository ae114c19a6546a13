"""What a session remembers of its machines, from clocks of runs that are over."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trimtab.control.machines import LaneTimes
from trimtab.spark.counting import session_machines
from trimtab.spark.counting.session_machines import MOST_WAITING, clock_of, machines_of


class Clock:
    """Shows its times once its frame has run."""

    def __init__(self) -> None:
        self.times: LaneTimes | None = None

    def read(self, *, wait: bool) -> LaneTimes | None:
        assert not wait
        return self.times


def test_runs_that_are_over_are_learned_from_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_machines, "LaneClock", Clock)
    session: Any = SimpleNamespace()
    assert not machines_of(session).slowness
    first: Any = clock_of(session)
    later: Any = clock_of(session)
    assert not machines_of(session).slowness
    later.times = LaneTimes(np.ones(2), np.zeros(2), np.array([1.0, 4.0]), ("a/0", "b/1"))
    known = machines_of(session)
    assert known.slowness["b/1"] > 2
    assert machines_of(session) == known
    first.times = later.times
    assert machines_of(session).slowness["b/1"] > known.slowness["b/1"]
    # Another session knows nothing of it.
    other: Any = SimpleNamespace()
    assert not machines_of(other).slowness


def test_frames_that_never_run_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_machines, "LaneClock", Clock)
    session: Any = SimpleNamespace()
    first: Any = clock_of(session)
    for _ in range(MOST_WAITING):
        clock_of(session)
    first.times = LaneTimes(np.ones(1), np.zeros(1), np.ones(1), ("a/0",))
    assert not machines_of(session).slowness


def test_threads_of_a_session_learn_from_each_clock_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = LaneTimes(np.ones(2), np.zeros(2), np.array([1.0, 4.0]), ("a/0", "b/1"))

    class Slow(Clock):
        def read(self, *, wait: bool) -> LaneTimes | None:
            time.sleep(0.001)  # the others come to read it meanwhile
            return times

    monkeypatch.setattr(session_machines, "LaneClock", Slow)
    session: Any = SimpleNamespace()

    def one_run(_: int) -> float:
        clock_of(session)
        return machines_of(session).slowness["b/1"]

    with ThreadPoolExecutor(4) as threads:
        found = max(threads.map(one_run, range(24)))
    alone: Any = SimpleNamespace()
    for _ in range(24):
        clock_of(alone)
    assert found == machines_of(alone).slowness["b/1"]
