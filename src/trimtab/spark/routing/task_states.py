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
        return cls(before, after, 0 if before is None else len(_instances(before)))

    def of_task(self, number: int, cls: type[Router]) -> Router | None:
        """Return the router that a map task goes on from, None if there is none yet."""
        if self.before is None or self.known == 0:
            return None
        # A task beyond the last batch's tasks learns from one of them.
        return _restored(self.before / f"{number % self.known}.json", cls)

    def leave(self, number: int, router: Router) -> None:
        """Write what a map task's router knows at the end of the batch."""
        write_whole(self.after / f"{number}.json", states.dump(router.state()))

    def gather(self, cls: type[Router], reducer: dict[str, Any] | None) -> dict[str, Any] | None:
        """Bring the instances together after a batch; return the state of Dalton's reducer, if any.

        Instances whose task had no rows in this batch keep the state they had. Instances of Dalton
        that cooperate send their messages to a reducer on the driver and get its answer, one
        round per batch.
        """
        self.after.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in _instances(self.after)}
        for path in _instances(self.before) if self.before is not None else []:
            if path.name not in there:
                shutil.copyfile(path, self.after / path.name)
        self._close_ranks()
        paths = _instances(self.after)
        if not paths:
            return reducer
        if not issubclass(cls, DaltonRouter):
            return None
        routers = [_restored(path, cls) for path in paths]
        if not routers[0].cooperate:
            return None
        return _synchronised(paths, routers, reducer)

    def _close_ranks(self) -> None:
        """Close gaps in the numbers, which tasks without rows leave in a first batch."""
        for number, path in enumerate(_instances(self.after)):
            if path.name != f"{number}.json":
                path.rename(self.after / f"{number}.json")


def _synchronised(
    paths: list[Path], routers: list[DaltonRouter], reducer: dict[str, Any] | None
) -> dict[str, Any]:
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
    for router, path in zip(routers, paths, strict=True):
        router.receive(table)
        write_whole(path, states.dump(router.state()))
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
