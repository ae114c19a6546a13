"""What a simulation found, window by window and as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import metrics
from trimtab.control.cost_model import Makespan, Placement


@dataclass(frozen=True, eq=False)
class Window:
    """One window of a simulation.

    Attributes
    ----------
    number
        0, 1, ...
    placement
        Loads and cardinalities of the lanes.
    makespan
        Time of the slowest lane, and of the merge, if the window is worked on as a batch.
    capacities
        Relative speed of each lane, mean one.
    utilisation
        Work that each lane was sent, over what it can do while the window lasts.
    queues
        Queue length of each lane when the window ends.
    latencies
        Seconds from arrival to finish, for each tuple.
    moved
        Share of the window's weight whose lane a change of plan before it moved, in 0..1.
    """

    number: int
    placement: Placement
    makespan: Makespan
    capacities: NDArray[np.float64]
    utilisation: NDArray[np.float64]
    queues: NDArray[np.int64]
    latencies: NDArray[np.float64]
    moved: float


@dataclass(frozen=True, eq=False)
class Result:
    """All windows of a simulation of one partitioner."""

    name: str
    windows: tuple[Window, ...]

    @property
    def loads(self) -> NDArray[np.float64]:
        """Loads: windows x lanes."""
        return np.array([window.placement.loads for window in self.windows])

    @property
    def max_over_mean(self) -> NDArray[np.float64]:
        """Heaviest lane over the mean lane in each window, capacities taken into account."""
        return np.array(
            [metrics.max_over_mean(w.placement.loads, w.capacities) for w in self.windows]
        )

    @property
    def replication(self) -> NDArray[np.float64]:
        """Lanes per key in each window."""
        return np.array([window.placement.replication for window in self.windows])

    @property
    def makespans(self) -> NDArray[np.float64]:
        """Seconds per window, lanes and merge."""
        return np.array([window.makespan.seconds for window in self.windows])

    @property
    def makespan(self) -> float:
        """Seconds for all windows, one after the other."""
        return float(self.makespans.sum())

    @property
    def queues(self) -> NDArray[np.int64]:
        """Queue lengths at the windows' ends: windows x lanes."""
        return np.array([window.queues for window in self.windows])

    @property
    def utilisation_imbalance(self) -> NDArray[np.float64]:
        """`max - mean` of queue length over capacity at each window's end (CG, Section 3)."""
        return np.array(
            [metrics.utilisation_imbalance(w.queues, w.capacities) for w in self.windows]
        )

    @property
    def moved(self) -> NDArray[np.float64]:
        """Share of the weight that changes of plan moved, before each window."""
        return np.array([window.moved for window in self.windows])

    @property
    def latencies(self) -> NDArray[np.float64]:
        """Seconds from arrival to finish, for each tuple."""
        return np.concatenate([window.latencies for window in self.windows])

    def summary(self) -> dict[str, Any]:
        """Return the figures that one compares, as JSON can hold them."""
        latencies = self.latencies
        middle, late = np.percentile(latencies, [50, 99])
        return {
            "name": self.name,
            "windows": len(self.windows),
            "tuples": int(latencies.size),
            "max_over_mean": float(self.max_over_mean.mean()),
            "replication": float(self.replication.mean()),
            "makespan": self.makespan,
            "latency_mean": float(latencies.mean()),
            "latency_median": float(middle),
            "latency_p99": float(late),
            "longest_queue": int(self.queues.max()),
            "utilisation_imbalance": float(self.utilisation_imbalance.mean()),
            "moved": float(self.moved.sum()),
        }
