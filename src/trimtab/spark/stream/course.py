"""The course of a batch: how its rows route, and why. Recorded before the batch runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Self

from trimtab.errors import CorruptState
from trimtab.spark.routing.route import Route
from trimtab.spark.stream.looking import Look


@dataclass(frozen=True, eq=False)
class Course:
    """How one batch routes: recorded before it runs, followed to the letter when it runs again.

    Attributes
    ----------
    route
        Where rows go.
    reduce_tasks
        Tasks that make results; None where Spark decides.
    version
        Number of the plan, from 1 on.
    changed, reason
        Whether this batch brings a new plan, and why or why not.
    moved
        Share of the weight that the new plan puts on another lane.
    scaling
        Why there are as many tasks as there are.
    routers_go_on
        Whether routers go on from what those of the batch before have learned.
    look
        Whether the keys of the batch were looked at first, and why or why not.
    expected
        What a new plan was expected to win per batch and to cost once, in level batch times; None
        where the plan stays or nothing was weighed.
    weighed_by
        Whether the plan levels "rows", or "seconds" that were measured key by key.
    blocks
        Rows in each block of the receivers, where rows stay in these and the plan is theirs; else
        none.
    shares
        Relative size that each lane is meant to have; none if all are to be equal.
    """

    route: Route
    reduce_tasks: int | None
    version: int
    changed: bool
    reason: str
    moved: float = 0.0
    scaling: str = ""
    routers_go_on: bool = False
    look: Look = field(default_factory=Look)
    expected: tuple[float, float] | None = None
    weighed_by: str = "rows"
    blocks: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return the course as a checkpoint holds it."""
        return {
            "route": self.route.to_record(),
            "reduce_tasks": self.reduce_tasks,
            "version": self.version,
            "changed": self.changed,
            "reason": self.reason,
            "moved": self.moved,
            "scaling": self.scaling,
            "routers_go_on": self.routers_go_on,
            "look": asdict(self.look),
            "expected": None if self.expected is None else list(self.expected),
            "weighed_by": self.weighed_by,
            "blocks": list(self.blocks),
            "shares": list(self.shares),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any], source: str) -> Self:
        """Read what `to_record` returned; `source` names the file in errors."""
        try:
            # Courses of older versions have no blocks and no shares.
            record = {"blocks": (), "shares": (), **record}
            fields = {name: record[name] for name in cls.__dataclass_fields__}
            route, look = Route.from_record(record["route"], source), Look(**record["look"])
            given = record["expected"]
            expected = None if given is None else (float(given[0]), float(given[1]))
            read: dict[str, Any] = {"route": route, "look": look, "expected": expected}
            read["blocks"] = tuple(map(int, record["blocks"]))
            read["shares"] = tuple(map(float, record["shares"]))
            return cls(**{**fields, **read})
        except (KeyError, TypeError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error
