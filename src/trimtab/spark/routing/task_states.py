"""What the routers of a stream's map tasks have learned, kept in files from batch to batch.

Map task i goes on from the state that instance i left in the batch before. It reads that state and
leaves its own in the checkpoint, so that nothing passes through the driver but Dalton's messages. A
task that runs again starts from the same state and leaves the same one.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from trimtab import state as states
from trimtab.control.q_sync import QTableReducer
from trimtab.errors import CorruptState
from trimtab.journal.files import write_whole
from trimtab.routers import Router
from trimtab.routers.dalton import DaltonRouter

LEFT, READY = "left", "ready"
"""Directories of a batch: what its tasks have left, and what the next batch's tasks go on from."""

_R = TypeVar("_R", bound=Router)


@dataclass(frozen=True)
class TaskStates:
    """The states before a batch and the place for those after it.

    Attributes
    ----------
    before
        Directory with the states before the batch; None in the first one.
    after
        Directory for the states after the batch.
    known
        Number of states in `before`.
    """

    before: Path | None
    after: Path
    known: int

    @classmethod
    def between(cls, before: Path | None, after: Path) -> Self:
        """Count the states in `before`, once and on the driver."""
        return cls(before, after, 0 if before is None else len(_instances(before / READY)))

    def emptied(self) -> Self:
        """Remove what tasks of an interrupted run have left; to be called before the batch runs."""
        shutil.rmtree(self.after / LEFT, ignore_errors=True)
        return self

    def of_task(self, number: int, cls: type[Router]) -> Router | None:
        """Return the router that a map task goes on from, None if there is none yet."""
        if self.before is None or self.known == 0:
            return None
        # A task beyond the last batch's tasks learns from one of them.
        return _restored(self.before / READY / f"{number % self.known}.json", cls)

    def leave(self, number: int, router: Router) -> None:
        """Write what a map task's router knows at the end of the batch."""
        write_whole(self.after / LEFT / f"{number}.json", states.dump(router.state()))

    def gather(self, cls: type[Router], reducer: dict[str, Any] | None) -> dict[str, Any] | None:
        """Make the states ready for the next batch; return that of Dalton's reducer, if any.

        Instances whose task had no rows in this batch keep the state they had. Instances of Dalton
        that cooperate send their messages to a reducer on the driver and get its answer, one
        round per batch.

        What the tasks have left is only read, and all that is made ready is written anew: after a
        crash in the middle of it the next try gives the same.
        """
        ready = self.after / READY
        shutil.rmtree(ready, ignore_errors=True)
        ready.mkdir(parents=True)
        found = {path.name: path for path in _instances(self.after / LEFT)}
        for path in _instances(self.before / READY) if self.before is not None else []:
            found.setdefault(path.name, path)
        # Numbered without gaps, which tasks without rows leave in a first batch.
        paths = sorted(found.values(), key=lambda path: int(path.stem))
        if not paths:
            return reducer
        if issubclass(cls, DaltonRouter):
            routers = [_restored(path, cls) for path in paths]
            if routers[0].cooperate:
                reducer = _synchronised(routers, reducer)
                for number, router in enumerate(routers):
                    write_whole(ready / f"{number}.json", states.dump(router.state()))
                return reducer
        for number, path in enumerate(paths):
            write_whole(ready / f"{number}.json", path.read_text(encoding="utf-8"))
        return None


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


def _restored(path: Path, cls: type[_R]) -> _R:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CorruptState(f"{path} is missing or cannot be read: {error}") from error
    try:
        return cls.restore(states.parse(text, str(path)))
    except CorruptState as error:
        raise CorruptState(f"{path} cannot be used: {error}") from error


def _instances(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    found = [p for p in place.iterdir() if p.suffix == ".json" and p.stem.isdigit()]
    return sorted(found, key=lambda path: int(path.stem))
