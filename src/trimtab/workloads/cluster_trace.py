"""Task events of a cluster as in Google's trace, drawn instead of recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number, whole
from trimtab.errors import InvalidArgument

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class TaskEvents:
    """Events of tasks: when, of which job and scheduling class, and how many cores were asked for.

    Jobs start one after another. Most have one task, a few have thousands: sizes follow a Pareto
    law. The tasks of a job come together, and all have the job's class and request.

    Parameters
    ----------
    tail
        Exponent of the law of job sizes, above 1; the lower, the larger the largest jobs.
    most_tasks
        The largest job, 1 or more.
    classes
        Share of each scheduling class among the jobs, which add up to 1.
    events_per_second
        Rate, above 0.

    Examples
    --------
    >>> events = TaskEvents().events(1000, seed=1)
    >>> sorted(events)
    ['cpu', 'job', 'scheduling_class', 'time']
    >>> int(events["scheduling_class"].max())
    3
    """

    tail: float = 1.6
    most_tasks: int = 5_000
    classes: tuple[float, ...] = (0.42, 0.3, 0.2, 0.08)
    events_per_second: float = 0.7

    def __post_init__(self) -> None:
        real("tail", self.tail, 1, low_open=True)
        whole("most_tasks", self.most_tasks, 1)
        real("events_per_second", self.events_per_second, 0, low_open=True)
        if not self.classes or min(self.classes) < 0 or abs(sum(self.classes) - 1) > 1e-9:
            raise InvalidArgument(
                f"classes must be shares >= 0 that add up to 1; got {self.classes!r}"
            )

    def events(self, count: int, seed: int = 0) -> Columns:
        """Draw events, one array per column."""
        whole("count", count, 0)
        random = np.random.default_rng(seed_number(seed))
        sizes = np.floor(random.random(count + 1) ** (-1 / self.tail)).astype(np.int64)
        sizes = np.minimum(sizes, self.most_tasks)
        jobs = np.repeat(np.arange(sizes.size), sizes)[:count]
        kind = np.searchsorted(np.cumsum(self.classes)[:-1], random.random(sizes.size))
        cpu = np.round(random.lognormal(-3.0, 0.8, sizes.size), 4)
        return {
            "time": np.cumsum(random.exponential(1 / self.events_per_second, count)),
            "job": jobs,
            "scheduling_class": kind[jobs],
            "cpu": cpu[jobs],
        }
