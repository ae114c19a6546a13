"""What a model found, time slot by time slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import metrics
from trimtab.simulate.latency import Latencies


@dataclass(frozen=True, eq=False)
class Slot:
    """One time slot of a stream.

    Attributes
    ----------
    number, seconds, tuples
        0, 1, ...; how long it lasted; how many tuples arrived.
    loads
        Tuples that each lane got.
    capacities
        Relative speed of each lane, mean one.
    utilisation
        Share of the slot that each lane worked.
    pressure
        Work that each lane got, over what it can do in the slot; above 1 its queue grows.
    queues
        Tuples that wait at each lane when the slot ends, the one in service included: work that
        waits over the mean work of a tuple.
    latencies
        Seconds from arrival to finish.
    replicas, keys
        Key-lane pairs and distinct keys of the window that ends with the slot.
    aggregation_seconds
        Work of the busiest reducer for that window.
    reducer_pressure
        That work over the length of the slot; above 1 the reducers fall behind.
    moved_bytes
        State that a change of plan moved before the slot.
    delegated
        Virtual workers that changed their lane after the slot.
    """

    number: int
    seconds: float
    tuples: int
    loads: NDArray[np.int64]
    capacities: NDArray[np.float64]
    utilisation: NDArray[np.float64]
    pressure: NDArray[np.float64]
    queues: NDArray[np.float64]
    latencies: Latencies
    replicas: int
    keys: int
    aggregation_seconds: float
    reducer_pressure: float
    moved_bytes: float
    delegated: int

    @property
    def max_over_mean(self) -> float:
        """Heaviest lane over the mean lane, capacities taken into account."""
        return metrics.max_over_mean(self.loads, self.capacities)

    @property
    def replication(self) -> float:
        """Lanes per key."""
        return self.replicas / self.keys if self.keys else 1.0


@dataclass(frozen=True, eq=False)
class Timeline:
    """All slots of one partitioner on one stream."""

    name: str
    slots: tuple[Slot, ...]

    def of(self, figure: Callable[[Slot], Any]) -> NDArray[Any]:
        """Return one figure of every slot, such as `timeline.of(lambda s: s.max_over_mean)`."""
        return np.array([figure(slot) for slot in self.slots])

    @property
    def latencies(self) -> Latencies:
        """Latencies of all tuples."""
        together = Latencies()
        for slot in self.slots:
            together.merge(slot.latencies)
        return together

    @property
    def loads(self) -> NDArray[np.int64]:
        """Tuples of each lane, over the whole run."""
        return np.asarray(self.of(lambda s: s.loads).sum(axis=0), dtype=np.int64)

    @property
    def tuples(self) -> int:
        """Tuples in all."""
        return sum(slot.tuples for slot in self.slots)

    def table(self) -> list[dict[str, float]]:
        """Return one row of figures per slot, for files and pictures."""
        rows, waiting = [], 0.0
        for slot in self.slots:
            now = float(slot.queues.sum())
            rows.append(
                {
                    "slot": slot.number,
                    "tuples": slot.tuples,
                    "throughput": (slot.tuples + waiting - now) / slot.seconds,
                    "max_over_mean": slot.max_over_mean,
                    "utilisation": float(slot.utilisation.mean()),
                    "utilisation_most": float(slot.utilisation.max()),
                    "utilisation_least": float(slot.utilisation.min()),
                    "queue_mean": float(slot.queues.mean()),
                    "queue_most": float(slot.queues.max()),
                    "latency_mean": slot.latencies.mean,
                    "latency_p50": slot.latencies.percentile(50),
                    "latency_p95": slot.latencies.percentile(95),
                    "latency_p99": slot.latencies.percentile(99),
                    "replication": slot.replication,
                    "aggregation_seconds": slot.aggregation_seconds,
                    "moved_bytes": slot.moved_bytes,
                    "delegated": slot.delegated,
                }
            )
            waiting = now
        return rows

    @property
    def pressure(self) -> float:
        """Work of the busiest lane, or reducer, over what it can do in the whole run."""
        seconds = self.of(lambda s: s.seconds)
        lanes = (self.of(lambda s: s.pressure) * seconds[:, None]).sum(axis=0).max()
        reducers = (self.of(lambda s: s.reducer_pressure) * seconds).sum()
        return float(max(lanes, reducers) / seconds.sum())

    @property
    def keeps_up(self) -> bool:
        """Whether lanes and reducers got no more work than they can do, over the whole run."""
        return self.pressure <= 1.0

    @property
    def sustainable_rate(self) -> float:
        """Tuples per second of the same slots, made so short that somebody is always busy.

        It is what `highest_rate` finds where decisions do not depend on the rate.
        """
        rate = self.tuples / float(self.of(lambda s: s.seconds).sum())
        return rate / self.pressure
