"""What a trigger of a stream tells the autoscaler: its load, whoever was late before it."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab._checks import real
from trimtab.control.autoscale import AutoScaler, ScaleDecision

_LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class Trigger:
    """One trigger of a stream, as it was measured.

    Attributes
    ----------
    started, ended
        When Spark began to plan its batch, and when the batch was done, in seconds.
    rows, keys
        Rows of the batch, and distinct keys.
    work
        Seconds that all lanes took together; None if they were not measured.
    fullest
        The longest lane's seconds over the mean lane's, 1 or more.
    longest
        Seconds of the longest lane; None if lanes were not measured.
    """

    started: float
    ended: float
    rows: float
    keys: float
    work: float | None = None
    fullest: float = 1.0
    longest: float | None = None


def observe_trigger(
    scaler: AutoScaler, trigger: Trigger, interval: float, before: float | None
) -> ScaleDecision:
    """Tell a scaler of a trigger, and of those before it that had no rows.

    A batch holds what has arrived since the trigger before it began. Where that one was late, it
    holds more than an interval's rows, takes longer, and is no sign of a higher rate: so the load
    is the whole trigger's time over the time in which its rows arrived, and the rate is rows per
    second. Triggers without rows run no batch; they are told as such, with a load of 0.

    Parameters
    ----------
    scaler
        Decides, and remembers.
    trigger
        The newest one that had a batch.
    interval
        Seconds between two triggers, above 0.
    before
        When the trigger with a batch before this one began; None for the first.

    Examples
    --------
    Twice the rows in twice the time, since the batch before was late:

    >>> scaler = AutoScaler(4, 4, batches=1)
    >>> late = Trigger(started=12.0, ended=13.7, rows=2000, keys=10)
    >>> observe_trigger(scaler, late, interval=1.0, before=10.0).reason
    'stable: the last batch took 85% of its interval'

    Work that asks for more tasks gets them at once, not one by one:

    >>> busy = Trigger(started=13.0, ended=15.0, rows=9000, keys=10, work=7.2, longest=1.8)
    >>> observe_trigger(scaler, busy, interval=1.0, before=12.0).map_tasks
    12
    """
    interval = real("interval", interval, 0, low_open=True)
    since = interval if before is None else max(trigger.started - before, _LEAST_SECONDS)
    idle = 0 if before is None else int(since / interval + 0.5) - 1
    took = max(trigger.ended - trigger.started, 0.0)
    # A batch as long as the gap was late itself; a shorter one had its rows in one interval.
    arrived = max(interval, since) if idle <= 0 or _was_late(took, since, interval) else interval
    if arrived == interval:
        for _ in range(min(idle, scaler.batches + 1)):
            scaler.observe(0.0, interval, 0.0, 0.0)
    share = interval / arrived
    needed = _needed(scaler, trigger, took, interval, share)
    return scaler.observe(
        took * share, interval, trigger.rows / arrived, trigger.keys, needed=needed
    )


def _was_late(took: float, since: float, interval: float) -> bool:
    return took > interval and since < 2 * took + interval


def _needed(
    scaler: AutoScaler, trigger: Trigger, took: float, interval: float, share: float
) -> float | None:
    """Return the tasks that bring the load to the middle of zone 2; None if that is not known."""
    if trigger.work is None or trigger.longest is None:
        return None
    target = (scaler.threshold - scaler.step / 2) * interval
    # What is not done on lanes takes as long with any number of them.
    room = target - max(took - trigger.longest, 0.0) * share
    return None if room <= 0 else trigger.work * share * trigger.fullest / room
