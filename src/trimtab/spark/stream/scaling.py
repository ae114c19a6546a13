"""How long a batch took, and what the autoscaler makes of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from trimtab.control.machines import LaneTimes
from trimtab.control.stream_load import Trigger, observe_trigger
from trimtab.journal.spark_offsets import Offsets
from trimtab.metrics import max_over_mean
from trimtab.spark.counting.observed import Observed
from trimtab.spark.stream.knowledge import Knowledge

LONGEST_PLANNING = 30.0
"""Seconds from Spark's planning of a batch to its call, at most: what is more is a restart."""


@dataclass(frozen=True)
class Seconds:
    """How long a batch took.

    Attributes
    ----------
    total, running
        From its start on, and of that the time in which its rows were worked on.
    interval
        Seconds between two batches; None if the trigger does not say.
    share_of_slots
        Task slots over lanes, at most 1.
    triggered
        When Spark began to plan the batch, in seconds of the clock; None if that is not known.
    before
        Seconds from then until the batch began.
    """

    total: float
    running: float
    interval: float | None = None
    share_of_slots: float = 1.0
    triggered: float | None = None
    before: float = 0.0


def triggered(offsets: Offsets | None, ago: float) -> tuple[float, float]:
    """Return when Spark began to plan a batch, and how long that was before the call of it.

    `ago` is how many seconds ago the call was.
    """
    called = time.time() - ago
    if offsets is None:
        return called, 0.0
    planned = offsets.time / 1e3
    # Of a batch that runs again, after whatever ended the run before, the call is the beginning.
    before = called - planned
    return (planned, before) if 0 <= before < LONGEST_PLANNING else (called, 0.0)


def scale(
    known: Knowledge, seen: Observed | None, seconds: Seconds, times: LaneTimes | None
) -> None:
    """Tell the scaler, if there is one, of the batch; one without rows counts, too."""
    if known.scaler is None or seconds.interval is None:
        return
    started = 0.0 if seconds.triggered is None else seconds.triggered
    took = times.seconds[times.measured] if times is not None else np.zeros(0)
    measured = took.size > 0 and took.max() > 0
    trigger = Trigger(
        started,
        started + seconds.before + seconds.total,
        0 if seen is None else seen.rows,
        0 if seen is None else seen.histogram.distinct,
        float(took.sum()) if measured else None,
        max_over_mean(took) if measured else 1.0,
        float(took.max()) if measured else None,
    )
    decision = observe_trigger(known.scaler, trigger, seconds.interval, known.triggered)
    known.triggered = seconds.triggered
    known.scaling = decision.reason
