"""Lanes as servers with unbounded queues: first come, first served, fixed service times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import lane_count, real
from trimtab._kernel import kernel
from trimtab.errors import InvalidArgument


class Queues:
    """The queues of all lanes; tuples arrive one by one at a constant rate.

    A tuple that finds its lane occupied waits until all earlier ones of that lane are done. Its
    latency is `finish - arrival`. The queue length of a lane at time t is the number of its tuples
    that have arrived and not finished.

    Parameters
    ----------
    lanes
        Number of lanes, 1 or more.
    rate
        Tuples that arrive per second, on all lanes together, more than 0.

    Examples
    --------
    >>> queues = Queues(lanes=2, rate=1.0)
    >>> queues.serve([0, 0, 1], service=[1.5, 1.5]).tolist()
    [1.5, 2.0, 1.5]
    >>> queues.now, queues.lengths().tolist()
    (3.0, [0, 1])

    References
    ----------
    Consistent Grouping, Section 3 (queue length, latency) and Section 6 (supermarket model).

    Notes
    -----
    When the service time of a lane changes, the tuples that wait there take the new time from then
    on. Latencies that were returned earlier are not corrected.
    """

    def __init__(self, lanes: int, rate: float) -> None:
        self.lanes = lane_count(lanes)
        self.rate = real("rate", rate, 0, low_open=True)
        self._arrived = 0
        self._free: NDArray[np.float64] = np.zeros(self.lanes)
        self._service: NDArray[np.float64] = np.ones(self.lanes)

    @property
    def now(self) -> float:
        """Time at which the next tuple arrives."""
        return self._arrived / self.rate

    def serve(self, lanes: ArrayLike, service: ArrayLike) -> NDArray[np.float64]:
        """Take the next tuples and return their latencies; `service` is seconds per tuple."""
        where = np.ascontiguousarray(lanes, dtype=np.int32)
        seconds = np.array(service, dtype=np.float64)
        if seconds.shape != (self.lanes,) or not np.isfinite(seconds).all() or (seconds <= 0).any():
            raise InvalidArgument(
                f"service must be {self.lanes} positive numbers, one per lane; got {service!r}"
            )
        if where.size and (where.min() < 0 or where.max() >= self.lanes):
            raise InvalidArgument(
                f"lanes must be in 0..{self.lanes - 1}; got {where.min()}..{where.max()}"
            )
        waiting = np.maximum(self._free - self.now, 0.0) / self._service
        self._free = self.now + waiting * seconds
        self._service = seconds
        latencies = np.empty(where.size)
        _serve(where, self._arrived, self.rate, seconds, self._free, latencies)
        self._arrived += where.size
        return latencies

    def lengths(self) -> NDArray[np.int64]:
        """Return each lane's queue length now, the tuple in service included."""
        waiting = np.maximum(self._free - self.now, 0.0) / self._service
        # Whole tuples, but for the rounding of sums of service times.
        return np.ceil(waiting - 1e-6).astype(np.int64)


@kernel
def _serve(
    lanes: NDArray[np.int32],
    arrived: int,
    rate: float,
    service: NDArray[np.float64],
    free: NDArray[np.float64],
    latencies: NDArray[np.float64],
) -> None:
    for i in range(lanes.size):
        lane = lanes[i]
        now = (arrived + i) / rate
        begin = max(now, free[lane])
        free[lane] = begin + service[lane]
        latencies[i] = free[lane] - now
