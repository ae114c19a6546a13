"""What the routers of a stream's map tasks have learned, kept from batch to batch.

    routers/<batch>-<epoch>/left/<task>-<attempt>.json    what tasks have left
    routers/<batch>-<epoch>/ready/<instance>.json         what the next batch's tasks go on from

Map task i goes on from the state that instance i left in the batch before. `carriers` says how
states get there and back.

States are left as the batch ends, with its loads: the batch counts as ended (`Router.advance`) when
the next one begins. In between, Daltons tell each other what they have routed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeVar

from pyspark import TaskContext
from pyspark.sql import SparkSession

from trimtab import state as states
from trimtab.control.machines import LaneTimes
from trimtab.control.q_sync import QTableReducer
from trimtab.control.steady_delegation import SteadyDelegation
from trimtab.errors import CorruptState
from trimtab.journal.store import Store
from trimtab.routers import Router
from trimtab.routers.cg import CgRouter
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
        data = self.carrier.state_of(instance)
        found = _restored(data, cls, f"{self.source}/{instance}.json")
        found.advance()
        return found

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
        self,
        cls: type[Router],
        reducer: dict[str, Any] | None,
        ran: float = 0.0,
        times: LaneTimes | None = None,
    ) -> tuple[dict[str, Any] | None, Ready | None]:
        """Make the states ready for the next batch; return what the driver keeps, and theirs.

        Instances whose task had no rows in this batch keep the state they had. Instances of Dalton
        that cooperate send their messages to a reducer on the driver and get its answer, once the
        interval that it has set is over. Instances of `cg` are all told the same signals.

        Parameters
        ----------
        cls
            The class of the routers.
        reducer
            What the driver has kept so far: the state of Dalton's reducer, or of the delegation.
        ran
            How many seconds the batch took so far.
        times
            When its lanes were worked on, if that was measured.
        """
        started = perf_counter()
        left = self.in_tasks.carrier.left()
        had_rows = set(left)
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
                for (task, _), router in zip(found, routers, strict=True):
                    # Without rows, the batch is over for it with loads of 0.
                    if task not in had_rows:
                        router.advance()
                answer = _synchronised(routers, reducer, ran)
                made = [states.dump(router.state()).encode() for router in routers]
                answer["worked"] += perf_counter() - started
        if issubclass(cls, CgRouter):
            source = f"{self._store.uri}/{self._folder}/left"
            workers = [_restored(data, cls, f"{source}/{task}") for task, data in found]
            answer = _delegated(workers, reducer, times)
            made = [states.dump(router.state()).encode() for router in workers]
        return answer, self._made_ready(made)

    def _made_ready(self, made: list[bytes]) -> Ready:
        ready = Ready(self._folder, tuple(map(len, made)))
        for instance, data in enumerate(made):
            self._store.create(ready.name(instance), data)
        return ready


def _delegated(
    routers: list[CgRouter], kept: dict[str, Any] | None, times: LaneTimes | None
) -> dict[str, Any] | None:
    """Let every instance hand over the same virtual workers, if lanes were measured.

    Returns the state of the delegation with its last signals, and the virtual workers of each lane
    after them.
    """
    if times is None:
        return kept
    first = routers[0]
    loop = SteadyDelegation(first.lanes)
    if kept is not None:
        loop = SteadyDelegation.restore(kept["delegation"])
    signals = loop.signals(times.seconds, first.virtual_workers())
    for router in routers:
        router.delegate(signals)
    return {
        "delegation": loop.state(),
        "signals": signals.tolist(),
        "virtual_workers": first.virtual_workers().tolist(),
    }


def _synchronised(
    routers: list[DaltonRouter], reducer: dict[str, Any] | None, ran: float
) -> dict[str, Any]:
    """Let all instances learn what any of them has learned, if a round is due.

    Returns the reducer's state, with the seconds that batches ran and the driver gathered since its
    last round.
    """
    idle = ran + (0.0 if reducer is None else reducer["idle"])
    if reducer is not None and not any(router.sync_due for router in routers):
        return {**reducer, "idle": idle}
    messages = [router.sync_message() for router in routers]
    if reducer is None:
        interval = max(1, max(message.records for message in messages))
        made = QTableReducer(routers[0].lanes, len(routers), interval, heat=routers[0].heat)
        # There is nothing to compare yet: as long as the batch ran, to leave the interval alone.
        worked = idle
    else:
        # An instance that joined later takes part in the round of the others.
        state = reducer["table"]
        parameters = {**state["parameters"], "partitioners": len(routers)}
        made = QTableReducer.restore({**state, "parameters": parameters})
        worked = reducer["worked"]
    if worked > idle:
        # Tasks cannot route on while they wait for an answer: one that takes longer than they took
        # to route comes late, and each of them would ask for a longer interval.
        messages = [replace(message, double=True) for message in messages]
    table = made.merge(messages, idle, worked)
    for router in routers:
        router.receive(table)
    return {"table": made.state(), "idle": 0.0, "worked": 0.0}


def _restored(data: bytes, cls: type[_R], source: str) -> _R:
    try:
        return cls.restore(states.parse(data, source))
    except CorruptState as error:
        raise CorruptState(f"{source} cannot be used: {error}") from error
