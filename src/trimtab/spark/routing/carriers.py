"""How states of routers get from batch to batch: to the tasks of the next one, and back.

Tasks read and write the store themselves where it needs no JVM: on disks and in object stores. What
only Hadoop can open, a Python task cannot: there the states of before travel with the function that
the tasks run, and what they leave comes back in an accumulator, as only Spark Classic has them.

A task that runs again starts from the same state, sees the same rows in the same order, and so
leaves the same state: of several attempts any may count, and the latest does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from trimtab.errors import CorruptState, NotThere
from trimtab.journal.store import Store
from trimtab.journal.store.hadoop import HadoopStore


@dataclass(frozen=True)
class Ready:
    """The states that a batch has made ready: their folder, and how many bytes each has.

    It is the manifest of that folder, and part of the batch's state.
    """

    folder: str
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.sizes)

    def name(self, instance: int) -> str:
        """Return the name of an instance's state in the store."""
        return f"{self.folder}/ready/{instance}.json"

    def read(self, store: Store, instance: int) -> bytes:
        """Return the state of an instance; one that is missing or short is refused by name."""
        source = f"{store.uri}/{self.name(instance)}"
        try:
            data = store.read(self.name(instance))
        except NotThere as error:
            raise CorruptState(f"{source} is missing; put it back: {error}") from error
        if len(data) != self.sizes[instance]:
            raise CorruptState(
                f"{source} has {len(data)} bytes, but was written with {self.sizes[instance]}"
            )
        return data

    def to_record(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {"folder": self.folder, "sizes": list(self.sizes)}

    @classmethod
    def from_record(cls, record: dict[str, Any] | None) -> Self | None:
        """Read what `to_record` returned; None where there were no routers."""
        return None if record is None else cls(record["folder"], tuple(record["sizes"]))


class Carrier(Protocol):
    """The way of states to tasks and back; it travels to the tasks itself."""

    def state_of(self, instance: int) -> bytes:
        """Return, in a task, the state of an instance."""
        ...

    def leave(self, task: int, attempt: int, data: bytes) -> None:
        """Take, in a task, the state that it leaves."""
        ...

    def left(self) -> dict[int, bytes]:
        """Return, on the driver, what tasks have left, by the number of the task."""
        ...


@dataclass(frozen=True)
class ThroughStore:
    """Tasks read and write the store; it must be one that travels."""

    store: Store
    before: Ready | None
    folder: str

    def state_of(self, instance: int) -> bytes:
        """Read the state of an instance."""
        assert self.before is not None  # asked for only where there is one
        return self.before.read(self.store, instance)

    def leave(self, task: int, attempt: int, data: bytes) -> None:
        """Write a state under the name of this attempt, which no other has."""
        self.store.create(f"{self.folder}/left/{task:010d}-{attempt:020d}.json", data)

    def left(self) -> dict[int, bytes]:
        """Read what the latest attempt of each task has left."""
        latest = {}
        for name in self.store.list(f"{self.folder}/left/"):
            task = int(name.rpartition("/")[2].partition("-")[0])
            latest[task] = name
        return {task: self.store.read(name) for task, name in latest.items()}


class _Latest(AccumulatorParam[dict[int, tuple[int, bytes]]]):
    """Keep, of what attempts of tasks have left, that of the latest attempt."""

    def zero(self, value: dict[int, tuple[int, bytes]]) -> dict[int, tuple[int, bytes]]:
        return {}

    def addInPlace(  # noqa: N802 - Spark's name
        self, one: dict[int, tuple[int, bytes]], other: dict[int, tuple[int, bytes]]
    ) -> dict[int, tuple[int, bytes]]:
        for task, left in other.items():
            one[task] = max(one.get(task, left), left)
        return one


@dataclass(frozen=True)
class ThroughSpark:
    """Spark carries the states, for places that no Python task can open."""

    before: tuple[bytes, ...]
    after: Accumulator[dict[int, tuple[int, bytes]]]

    @classmethod
    def of(cls, session: SparkSession, store: Store, before: Ready | None) -> Self:
        """Read the states of before on the driver."""
        found = () if before is None else tuple(before.read(store, n) for n in range(len(before)))
        return cls(found, session.sparkContext.accumulator({}, _Latest()))

    def state_of(self, instance: int) -> bytes:
        """Return the state of an instance, which came with the task."""
        return self.before[instance]

    def leave(self, task: int, attempt: int, data: bytes) -> None:
        """Give a state to Spark, which takes it to the driver when the task is done."""
        self.after.add({task: (attempt, data)})

    def left(self) -> dict[int, bytes]:
        """Return what came back."""
        return {task: data for task, (_, data) in self.after.value.items()}


def carrier_of(
    store: Store, before: Ready | None, folder: str, session: SparkSession | None
) -> Carrier:
    """Return the way of states that a place allows.

    Parameters
    ----------
    store
        The checkpoint's store.
    before
        The states before the batch; None in the first one.
    folder
        Folder for the states after the batch, which nobody else writes to.
    session
        The session of the batch; without one nothing can travel through Spark.
    """
    if isinstance(store, HadoopStore) and session is not None:
        return ThroughSpark.of(session, store, before)
    return ThroughStore(store, before, folder)
