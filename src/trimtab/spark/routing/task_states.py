"""What the routers of a stream's map tasks have learned, kept from batch to batch.

    routers/<batch>-<epoch>/left/<task>-<attempt>.json    what tasks have left
    routers/<batch>-<epoch>/ready/<instance>.json         what the next batch's tasks go on from

Map task i goes on from the state that instance i left in the batch before. `carriers` says how
states get there and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark import TaskContext
from pyspark.sql import SparkSession

from trimtab import state as states
from trimtab.control.q_sync import QTableReducer
from trimtab.errors import CorruptState
from trimtab.journal.store import Store
from trimtab.routers import Router
from trimtab.routers.dalton import DaltonRouter
from trimtab.spark.routing.carriers import Carrier, Ready, carrier_of

_R = TypeVar("_R", bound=Router)


@dataclass(frozen=True)
class InTasks:
    """What a task knows of the states: the part of `TaskStates` that travels."""

    carrier: Carrier
    known: int
    source: str

    def of_task(self, number: int, cls: type[_R]) -> _R | None:
        """Return the router that a map task goes on from, None if there is none yet."""
        if self.known == 0:
            return None
        # A task beyond the last batch's tasks learns from one of them.
        instance = number % self.known
        return _restored(self.carrier.state_of(instance), cls, f"{self.source}/{instance}.json")

    def leave(self, number: int, router: Router) -> None:
        """Keep what a map task's router knows at the end of the batch."""
        context = TaskContext.get()
        attempt = 0 if context is None else context.taskAttemptId()
        self.carrier.leave(number, attempt, states.dump(router.state()).encode())


class TaskStates:
    """The states before a batch, and the place for those after it.

    Parameters
    ----------
    store
        The checkpoint's store.
    before
        The states before the batch; None in the first one.
    folder
        Folder for the states after the batch, which nobody else writes to.
    session
        The session of the batch.
    """

    def __init__(
        self, store: Store, before: Ready | None, folder: str, session: SparkSession | None = None
    ) -> None:
        self._store = store
        self._before = before
        self._folder = folder
        carrier = carrier_of(store, before, folder, session)
        source = "" if before is None else f"{store.uri}/{before.folder}/ready"
        self.in_tasks = InTasks(carrier, 0 if before is None else len(before), source)

    def gather(
        self, cls: type[Router], reducer: dict[str, Any] | None
    ) -> tuple[dict[str, Any] | None, Ready | None]:
        """Make the states ready for the next batch; return that of Dalton's reducer, and theirs.

        Instances whose task had no rows in this batch keep the state they had. Instances of Dalton
        that cooperate send their messages to a reducer on the driver and get its answer, one
        round per batch.
        """
        left = self.in_tasks.carrier.left()
        before = self._before
        for instance in range(0 if before is None else len(before)):
            if instance not in left and before is not None:
                left[instance] = before.read(self._store, instance)
        # Numbered without gaps, which tasks without rows leave in a first batch.
        found = [(task, left[task]) for task in sorted(left)]
        if not found:
            return reducer, None
        made = [data for _, data in found]
        answer = None
        if issubclass(cls, DaltonRouter):
            source = f"{self._store.uri}/{self._folder}/left"
            routers = [_restored(data, cls, f"{source}/{task}") for task, data in found]
            if routers[0].cooperate:
                answer = _synchronised(routers, reducer)
                made = [states.dump(router.state()).encode() for router in routers]
        return answer, self._made_ready(made)

    def _made_ready(self, made: list[bytes]) -> Ready:
        ready = Ready(self._folder, tuple(map(len, made)))
        for instance, data in enumerate(made):
            self._store.create(ready.name(instance), data)
        return ready


def _synchronised(routers: list[DaltonRouter], reducer: dict[str, Any] | None) -> dict[str, Any]:
    """Let all instances learn what any of them has learned; return the reducer's state."""
    messages = [router.sync_message() for router in routers]
    # An instance that joined later takes part in the round of the others.
    made = None if reducer is None else QTableReducer.restore(reducer)
    if made is None or (made.partitioners, made.lanes) != (len(routers), routers[0].lanes):
        made = QTableReducer(
            routers[0].lanes,
            len(routers),
            interval=max(1, max(message.records for message in messages)),
            heat=routers[0].heat,
        )
    table = made.merge(messages)
    for router in routers:
        router.receive(table)
    return made.state()


def _restored(data: bytes, cls: type[_R], source: str) -> _R:
    try:
        return cls.restore(states.parse(data, source))
    except CorruptState as error:
        raise CorruptState(f"{source} cannot be used: {error}") from error
