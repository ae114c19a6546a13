"""What a session's runs have told of its machines: lanes of a next run are chosen by it."""

from __future__ import annotations

from collections import deque
from threading import Lock

from pyspark.sql import SparkSession

from trimtab.control.machines import Machines
from trimtab.spark.counting.lane_clock import LaneClock

MOST_WAITING = 64
"""Runs that were prepared and not seen to run: older ones are no longer asked for."""

_ATTRIBUTE = "_trimtab_machines"

_MAKING = Lock()
"""Threads may share a session: no two of them may make its memory."""


class _Memory:
    def __init__(self) -> None:
        self.machines = Machines()
        self.waiting: deque[LaneClock] = deque(maxlen=MOST_WAITING)
        self.lock = Lock()


def clock_of(session: SparkSession) -> LaneClock:
    """Return a new clock for one frame; what it shows, once the frame has run, is learned from."""
    clock = LaneClock()
    memory = _memory(session)
    with memory.lock:
        memory.waiting.append(clock)
    return clock


def machines_of(session: SparkSession) -> Machines:
    """Return what is known of the machines of a session, from the runs that are over."""
    memory = _memory(session)
    # Two threads would else learn from one clock, and both take it out.
    with memory.lock:
        for clock in list(memory.waiting):
            times = clock.read(wait=False)
            if times is not None:
                memory.machines = memory.machines.after(times)
                memory.waiting.remove(clock)
        return memory.machines


def _memory(session: SparkSession) -> _Memory:
    with _MAKING:
        found = getattr(session, _ATTRIBUTE, None)
        if not isinstance(found, _Memory):
            found = _Memory()
            setattr(session, _ATTRIBUTE, found)
        return found
