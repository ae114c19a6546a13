"""What the checkpoint says of earlier batches, and whether Spark means the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trimtab import state as states
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.event_log import EventLog
from trimtab.journal.manifest import Manifest
from trimtab.journal.spark_offsets import Offsets
from trimtab.spark.routing.carriers import Ready
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.operations.base import Operation
from trimtab.spark.stream.pieces import Pieces
from trimtab.spark.stream.steering import Steering


@dataclass(frozen=True, eq=False)
class Known:
    """What is known between two batches: by steering, by the operation, by whom routers report to.

    `routers` and `pieces` tell where the states of routers and the partial results are.
    """

    steering: Knowledge
    operation: Any
    reducer: dict[str, Any] | None
    routers: Ready | None
    pieces: Pieces


class Past:
    """Read what earlier batches have left.

    Parameters
    ----------
    place
        The checkpoint.
    steering, operation
        Those of the query, which restore their own parts.
    log
        The event log.
    """

    def __init__(
        self, place: Checkpoint, steering: Steering, operation: Operation[Any], log: EventLog
    ) -> None:
        self._place = place
        self._steering = steering
        self._operation = operation
        self._log = log
        self._manifests: dict[str, Manifest] = {}

    def known_after(self, number: int) -> Known:
        """Return what is known after a batch; number -1 is before the first."""
        if number < 0:
            pieces = Pieces(self._place, {}, self._manifests)
            return Known(self._steering.start(), self._operation.start(), None, None, pieces)
        state = self._place.read_state(number)
        source = f"{self._place.uri}/state/{number}.json"
        if state is None:
            raise CorruptState(f"{source} is missing; without it the stream cannot go on")
        try:
            steering = Knowledge.restore(state["steering"], source)
            if (steering.scaler is None) != (self._steering.scaler is None):
                steering.scaler = self._steering.scaler
            return Known(
                self._steering.as_set(steering),
                self._operation.restore(state["operation"]),
                state["reducer"],
                Ready.from_record(state["routers"]),
                Pieces(self._place, state["panes"], self._manifests),
            )
        except (KeyError, TypeError) as error:
            raise CorruptState(f"{source} is damaged: it has no usable {error}") from error

    def check_router(self, number: int) -> None:
        """Refuse a router that has learned something which the states here do not go on from."""
        given = self._steering.partitioner
        record = self._place.read_plan(number)
        if given.router is None or not given.fixed or record is None:
            return
        before = record["course"]["route"]["router"]
        if before is None or states.dump(before) != states.dump(given.router.state()):
            raise InvalidArgument(
                f"checkpoint {self._place.uri} did not start from the router that was given, "
                "and what that router has learned would be lost; give the router as it was, its "
                "name, or another checkpoint"
            )

    def check_content(
        self, number: int, record: dict[str, Any] | None, kind: str, offsets: Offsets | None
    ) -> None:
        """Refuse a batch whose number is known, but with rows from other places."""
        before = None if record is None else record.get("sources")
        if before is None or offsets is None or before == list(offsets.sources):
            return
        raise CorruptState(
            f"{self._place.uri}/{kind}/{number}.json tells of batch {number} with the "
            f"sources at {before}, and Spark now asks for it with {list(offsets.sources)}: Spark's "
            "part of the checkpoint was replaced; put it back, or give another checkpoint"
        )

    def log_again(self, number: int) -> None:
        """Log a batch that was done when its process ended, before its line was written."""
        logged = self._log.last()
        if logged is None or logged["batch"] < number:
            state = self._place.read_state(number)
            if state is not None:
                self._log.append(state["event"])
