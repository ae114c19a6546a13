"""Where the seconds of a batch go."""

from __future__ import annotations

import time


class Laps:
    """A stopwatch whose laps have names; laps of one name are added up.

    Parameters
    ----------
    started
        When it was started, as `time.perf_counter` tells it.

    Examples
    --------
    >>> laps = Laps(time.perf_counter() - 2.0)
    >>> laps.end("planning")
    >>> round(laps.seconds["planning"])
    2
    """

    def __init__(self, started: float) -> None:
        self.started = started
        self.seconds: dict[str, float] = {}
        self._last = started

    def end(self, name: str) -> None:
        """End a lap, and begin the next."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now

    def to_event(self, *, planned: float, ran: float) -> dict[str, float | dict[str, float]]:
        """Return what the event log says: the total, its three parts, and the laps so far."""
        done = time.perf_counter()
        return {
            "total": round(done - self.started, 4),
            "planning": round(planned - self.started, 4),
            "running": round(ran - planned, 4),
            "recording": round(done - ran, 4),
            "steps": {name: round(seconds, 4) for name, seconds in self.seconds.items()},
        }
