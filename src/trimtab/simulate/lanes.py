"""Lanes as servers: first come, first served, speeds and service times that may change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import lane_count
from trimtab._kernel import kernel


@dataclass(frozen=True, eq=False)
class Served:
    """What the lanes did in a time slot.

    Attributes
    ----------
    latencies
        Seconds from arrival to finish of each tuple, if its lane keeps its speed.
    busy
        Seconds that each lane worked.
    backlog
        Work that waits at each lane when the slot ends, in seconds at speed one.
    """

    latencies: NDArray[np.float64]
    busy: NDArray[np.float64]
    backlog: NDArray[np.float64]


class Lanes:
    """The work that waits at each lane; nothing is kept per tuple.

    A lane of speed c does c seconds' worth of work per second, so that work is conserved when
    speeds change: `backlog after = backlog before + work arrived - speed x seconds busy`.

    Parameters
    ----------
    lanes
        Number of lanes, 1 or more.

    Examples
    --------
    >>> servers = Lanes(2)
    >>> done = servers.serve(
    ...     np.array([0, 0, 1], dtype=np.int32),
    ...     np.array([0.0, 1.0, 2.0]),
    ...     np.array([1.5, 1.5, 1.5]),
    ...     speeds=np.ones(2),
    ...     end=3.0,
    ... )
    >>> done.latencies.tolist(), done.busy.tolist(), done.backlog.tolist()
    ([1.5, 2.0, 1.5], [3.0, 1.0], [0.0, 0.5])

    References
    ----------
    Consistent Grouping, Sections 3 and 6: queue length, latency, the supermarket model.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lane_count(lanes)
        self._backlog: NDArray[np.float64] = np.zeros(self.lanes)
        self._seen: NDArray[np.float64] = np.zeros(self.lanes)

    def serve(
        self,
        lanes: NDArray[np.int32],
        arrivals: NDArray[np.float64],
        work: NDArray[np.float64],
        speeds: NDArray[np.float64],
        end: float,
    ) -> Served:
        """Take the tuples of a slot that ends at `end`; `arrivals` rise, `work` is in seconds."""
        before = self._backlog.copy()
        latencies = np.empty(lanes.size)
        _serve(lanes, arrivals, work, speeds, self._backlog, self._seen, latencies)
        np.maximum(self._backlog - speeds * (end - self._seen), 0.0, out=self._backlog)
        self._seen[:] = end
        arrived = np.bincount(lanes, weights=work, minlength=self.lanes)
        busy = np.maximum(before + arrived - self._backlog, 0.0) / speeds
        return Served(latencies, busy, self._backlog.copy())

    def pause(self, work: NDArray[np.float64]) -> None:
        """Give each lane work that is no tuple, such as moving state; tuples wait behind it."""
        self._backlog += work


@kernel
def _serve(
    lanes: NDArray[np.int32],
    arrivals: NDArray[np.float64],
    work: NDArray[np.float64],
    speeds: NDArray[np.float64],
    backlog: NDArray[np.float64],
    seen: NDArray[np.float64],
    latencies: NDArray[np.float64],
) -> None:
    for i in range(lanes.size):
        lane = np.uint64(lanes[i])
        speed = speeds[lane]
        left = max(0.0, backlog[lane] - speed * (arrivals[i] - seen[lane])) + work[i]
        seen[lane] = arrivals[i]
        backlog[lane] = left
        latencies[i] = left / speed
