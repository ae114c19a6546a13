"""What steering knows between two batches, as a checkpoint holds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from trimtab.control.autoscale import AutoScaler
from trimtab.control.key_costs import KeyCosts
from trimtab.control.lane_speeds import LaneSpeeds
from trimtab.control.machines import Machines
from trimtab.control.repartitioner import Repartitioner
from trimtab.errors import CorruptState
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.sketches.histogram_history import HistogramHistory
from trimtab.spark.stream.looking import Looking


@dataclass
class Knowledge:
    """What steering knows after a batch."""

    history: HistogramHistory = field(default_factory=lambda: HistogramHistory(length=4, fade=0.5))
    # No state hangs on a lane here, so that following the keys costs nothing and one batch decides.
    judge: Repartitioner = field(default_factory=lambda: Repartitioner(move_cost=0.0, memory=1))
    scaler: AutoScaler | None = None
    scaling: str = ""
    plan: Plan | None = None
    version: int = 0
    rows: int = 0
    router: dict[str, Any] | None = None
    """Name and parameters of the routers of the last batch."""
    looking: Looking = field(default_factory=Looking)
    partitions: int | None = None
    """Number of the source's partitions that had rows in the last batch."""
    costs: KeyCosts = field(default_factory=KeyCosts)
    """What a row of each key costs, where a user's function was timed."""
    machines: Machines = field(default_factory=Machines)
    """How fast the executors are that lanes have run on."""
    lane_speeds: LaneSpeeds = field(default_factory=LaneSpeeds)
    """How fast lanes are, whatever machine they run on."""
    triggered: float | None = None
    """When Spark began to plan the last batch, in seconds of the clock."""
    shares: tuple[float, ...] = ()
    """Relative size that each lane of the last batch was meant to have; none if all were equal."""

    @property
    def newest(self) -> Histogram | None:
        """The keys of the newest batch; None before anything was seen."""
        return list(self.history)[-1] if len(self.history) else None

    @property
    def lanes(self) -> int | None:
        """Number of lanes of the last batch; None before the first."""
        if self.plan is not None:
            return self.plan.lanes
        return None if self.router is None else int(self.router["lanes"])

    def state(self) -> dict[str, Any]:
        """Return everything, as a checkpoint holds it."""
        return {
            "history": self.history.state(),
            "judge": self.judge.state(),
            "scaler": None if self.scaler is None else self.scaler.state(),
            "scaling": self.scaling,
            "plan": None if self.plan is None else self.plan.to_json(),
            "version": self.version,
            "rows": self.rows,
            "router": self.router,
            "looking": self.looking.state(),
            "partitions": self.partitions,
            "costs": self.costs.state(),
            "machines": self.machines.state(),
            "lane_speeds": list(self.lane_speeds.costs),
            "triggered": self.triggered,
            "shares": list(self.shares),
        }

    @classmethod
    def restore(cls, state: dict[str, Any], source: str) -> Self:
        """Read what `state` returned; `source` names the file in errors."""
        try:
            scaler, plan = state["scaler"], state["plan"]
            return cls(
                HistogramHistory.restore(state["history"]),
                Repartitioner.restore(state["judge"]),
                None if scaler is None else AutoScaler.restore(scaler),
                state["scaling"],
                None if plan is None else Plan.from_json(plan, source),
                state["version"],
                state["rows"],
                state["router"],
                Looking.restore(state["looking"]),
                state["partitions"],
                KeyCosts.restore(state["costs"]),
                Machines.restore(state["machines"]),
                LaneSpeeds(tuple(state["lane_speeds"])),
                state["triggered"],
                tuple(state.get("shares", ())),  # older versions had none
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error
