"""A partitioner tried on a stream of key hashes, window by window, with all its costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.metrics import Costs, costs
from trimtab.plan import Plan
from trimtab.planners import Planner
from trimtab.routers import Router

Hashes = NDArray[np.uint64]
SCALARS = (
    *("max_over_mean", "imbalance", "coefficient_of_variation", "lower_bound"),
    *("replication", "least_replication", "widest_key", "aggregation_cost"),
    *("cardinality_imbalance", "hybrid_imbalance", "micro_batch_imbalance"),
)
"""The costs that are shown; those left out equal another one where all lanes are alike."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What one partitioner did.

    Attributes
    ----------
    name, kind, splits_keys
        Which partitioner it was: router or planner.
    lanes
        The lane of every tuple.
    windows
        Costs of each window.
    moved
        Share of the weight that changed lane from one window to the next, on average; None with
        one window, and for routers, which do not know before a tuple comes where it will go.
    """

    name: str
    kind: str
    splits_keys: bool
    lanes: NDArray[np.int32]
    windows: list[Costs]
    moved: float | None = None

    @property
    def loads(self) -> NDArray[np.float64]:
        """Tuples per lane over all windows."""
        return np.asarray(np.sum([window.loads for window in self.windows], axis=0))

    @property
    def over_bound(self) -> float:
        """The heaviest lane over the least it could be, averaged as `mean` does.

        Where keys may be split that least is the mean lane, otherwise the heaviest key counts too.
        """
        if self.splits_keys:
            return self.mean("max_over_mean")
        return self._average(
            [_over(window.loads.max(), window.lower_bound) for window in self.windows]
        )

    def mean(self, cost: str) -> float:
        """Return a cost's average over the windows, weighted by their tuples."""
        return self._average([float(getattr(window, cost)) for window in self.windows])

    def _average(self, values: list[float]) -> float:
        weights = [window.tuples for window in self.windows]
        return float(np.average(values, weights=weights if sum(weights) else None))

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the lanes of single tuples, as JSON can hold it."""
        return {
            "partitioner": self.name,
            "kind": self.kind,
            "splits_keys": self.splits_keys,
            "moved": self.moved,
            "loads": self.loads.tolist(),
            "over_bound": self.over_bound,
            "mean": {cost: self.mean(cost) for cost in SCALARS},
            "windows": [window.to_dict() for window in self.windows],
        }


def _over(heaviest: float, bound: float) -> float:
    return float(heaviest / bound) if bound > 0 else 1.0


def parsed(assignment: str) -> tuple[str, Any]:
    """Read `name=value` from the command line; numbers and yes/no words become what they mean.

    >>> parsed("choices=5"), parsed("cardinality=hll"), parsed("split=false")
    (('choices', 5), ('cardinality', 'hll'), ('split', False))
    """
    name, sign, text = assignment.partition("=")
    if not sign or not name:
        raise InvalidArgument(f"--set takes NAME=VALUE, such as choices=5; got {assignment!r}")
    if text.lower() in ("true", "false"):
        return name, text.lower() == "true"
    for number in (int, float):
        try:
            return name, number(text)
        except ValueError:
            continue
    return name, text


def try_out(hashes: Hashes, partitioner: Planner | Router, window: int) -> Trial:
    """Send the whole stream through a partitioner.

    A router decides tuple by tuple and is told where windows end. A planner sees each window before
    it is placed, as a micro-batch that was buffered, and the plan in force.
    """
    starts = range(0, max(hashes.size, 1), window)
    parts = [hashes[start : start + window] for start in starts]
    placed: list[NDArray[np.int32]] = []
    moved: float | None = None
    if isinstance(partitioner, Router):
        kind = "router"
        for part in parts:
            placed.append(partitioner.route(part))
            partitioner.advance()
    else:
        kind, moves = "planner", []
        plan: Plan | None = None
        for part in parts:
            seen = Histogram.from_hashes(part)
            new = partitioner.plan(seen, previous=plan)
            if plan is not None:
                moves.append(plan.moved(new, seen))
            placed.append(new.route(part))
            plan = new
        moved = float(np.mean(moves)) if moves else None
    lanes = partitioner.lanes
    measured = [costs(part, where, lanes) for part, where in zip(parts, placed, strict=True)]
    all_lanes = np.concatenate(placed)
    return Trial(partitioner.name, kind, partitioner.splits_keys, all_lanes, measured, moved)
