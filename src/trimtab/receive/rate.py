"""How many records per second Spark can sustain, found out from how long its batches took."""

from __future__ import annotations

import math

from trimtab._checks import real

TARGET = 0.9
"""Share of the interval that a batch may take: what is left covers batches that take longer."""

FASTEST_GROWTH = 2.0
"""How much more than it has seen a batch is trusted to be able to do."""

INTEGRAL = 0.2
"""Weight of the backlog, as Spark's own estimator has it."""


class SustainableRate:
    """The rate that keeps processing within the interval.

    A batch that took longer than it may, or behind which others wait, shows what Spark can do: its
    rows by its seconds, less a part of what waits. A batch that was done in time shows only that
    more would have been possible; the rate then grows in proportion to the time left, at most
    twofold. Before Spark was ever late there is no limit: a small batch that takes half a second,
    most of it to start, says nothing of what a large one can do.

    Parameters
    ----------
    interval
        Seconds from batch to batch.

    Attributes
    ----------
    rate
        Records per second; infinite as long as there is no limit.

    Examples
    --------
    >>> found = SustainableRate(interval=1.0)
    >>> found.update(rows=1000, seconds=0.5, waiting=0)
    inf
    >>> found.update(rows=4000, seconds=2.0, waiting=1000)
    1800.0
    >>> found.update(rows=1800, seconds=0.6, waiting=0)
    2700.0

    References
    ----------
    Apache Spark, `PIDRateEstimator`, with its default weights 1, 0.2 and 0.
    """

    def __init__(self, interval: float) -> None:
        self.interval = real("interval", interval, 0, low_open=True)
        self.rate = math.inf

    def update(self, rows: int, seconds: float, waiting: int) -> float:
        """Hear of a batch that was processed; return the rate.

        Parameters
        ----------
        rows, seconds
            Its size, and how long it took; a batch without rows or seconds tells nothing.
        waiting
            Rows of the batches that are released and not done.
        """
        if rows <= 0 or seconds <= 0:
            return self.rate
        allowed = TARGET * self.interval
        late = seconds > allowed or waiting > rows
        if late:
            self.rate = max(1.0, rows / seconds - INTEGRAL * waiting / self.interval)
        elif not math.isinf(self.rate):
            more = min(FASTEST_GROWTH, allowed / seconds)
            self.rate = max(self.rate, rows / self.interval * more)
        return self.rate


class Brake:
    """Tells those who read how long to wait, so that a rate is kept; pauses do not add up to more.

    Parameters
    ----------
    now
        The time, in monotonic seconds.

    Examples
    --------
    >>> brake = Brake(now=10.0)
    >>> brake.pause(records=100, rate=100.0, now=10.0)
    1.0
    >>> brake.pause(records=50, rate=100.0, now=11.25)
    0.5
    """

    def __init__(self, now: float) -> None:
        self._free_at = now

    def pause(self, records: int, rate: float, now: float) -> float:
        """Return how many seconds to wait after so many records were taken."""
        self._free_at = max(self._free_at, now) + records / rate
        return self._free_at - now
