"""Receivers whose routers learn together: Dalton's cooperation through files in a shared directory.

    rounds/<20 digits>/messages/<receiver>    what one router tells
    rounds/<20 digits>/answer                 the global table, and the reducer that made it

Nobody coordinates. A receiver whose interval has passed leaves its message (PREPARE) and goes on
routing (AWAIT). Whoever first sees the messages of all makes the answer; all others find it there.
"""

from __future__ import annotations

import time
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from trimtab import state as states
from trimtab._checks import whole
from trimtab.control.q_sync import GlobalTable, QTableReducer, SyncMessage
from trimtab.errors import AlreadyThere, CorruptState, NotThere
from trimtab.journal.store.local import LocalStore
from trimtab.routers.dalton import DaltonRouter

_ROUNDS = "rounds"
_KEPT_ROUNDS = 4
"""Rounds that are kept: those who were slow still find their answer."""


class Partners:
    """The place where receivers exchange what their routers have learned.

    Parameters
    ----------
    path
        A directory that all of them see.
    name
        Which of them this is.
    count
        How many there are, 1 or more. A round is over when all have sent; as long as one is away,
        the others route by what they know.

    Notes
    -----
    Rounds are counted here, not by the routers: one that starts again goes on with the round that
    the others are at. If it has sent its message of that round before it died, that one counts.
    """

    def __init__(self, path: str | PathLike[str], name: str, count: int) -> None:
        self.store = LocalStore(Path(path))
        self.name, self.count = name, whole("count", count, 1)
        answered = self._answered()
        self.round = max(answered, default=-1) + 1
        """The round that the next message belongs to, or the one that was sent."""
        self._local_round = 0

    def exchange(self, router: DaltonRouter) -> None:
        """Send what is due, and hear what was answered; this never waits for others."""
        if router.sync_due:
            message = router.sync_message()
            self._local_round = message.round
            self._send(replace(message, round=self.round))
        if router.awaiting:
            table = self._answer(router)
            if table is not None:
                ahead = self._local_round - self.round
                router.receive(replace(table, round=self._local_round, until=table.until + ahead))
                self._forget()
                self.round += 1

    def _send(self, message: SyncMessage) -> None:
        try:
            self._create(f"{self._folder()}/messages/{self.name}", message.to_dict())
        except AlreadyThere:
            return  # sent before this receiver died

    def _answer(self, router: DaltonRouter) -> GlobalTable | None:
        """Return the answer of this round, made now if all have sent; None if not all have."""
        name = f"{self._folder()}/answer"
        found = self._read(name)
        if found is None:
            told = self.store.list(f"{self._folder()}/messages/")
            if len(told) < self.count:
                return None
            messages = [SyncMessage.from_dict(self._read(each) or {}) for each in told]
            reducer = self._reducer(router)
            table = reducer.merge(messages, *self._times(told))
            try:
                self._create(name, {"table": table.to_dict(), "reducer": reducer.state()})
                return table
            except AlreadyThere:
                found = self._read(name)
        return None if found is None else GlobalTable.from_dict(found["table"])

    def _reducer(self, router: DaltonRouter) -> QTableReducer:
        before = self._read(f"{_ROUNDS}/{self.round - 1:020d}/answer") if self.round else None
        if before is None:
            # Shorter intervals would be all messages: each is a file that is forced to the disk.
            interval = router.stats_window
            return QTableReducer(router.lanes, self.count, interval, interval, router.heat)
        made = QTableReducer.restore(before["reducer"])
        made.partitioners = self.count
        return made

    def _times(self, messages: list[str]) -> tuple[float, float]:
        """Return how long there was nothing to do before this round, and how long it took."""
        begun = min((self.store.root / each).stat().st_mtime for each in messages)
        try:
            before = self.store.root / f"{_ROUNDS}/{self.round - 1:020d}/answer"
            idle = begun - before.stat().st_mtime
        except (FileNotFoundError, ValueError):
            idle = 0.0
        return max(0.0, idle), max(0.0, time.time() - begun)

    def _forget(self) -> None:
        old = self.round - _KEPT_ROUNDS
        if old >= 0:
            self.store.remove_folder(f"{_ROUNDS}/{old:020d}")

    def _answered(self) -> list[int]:
        rounds = []
        for name in self.store.entries(_ROUNDS):
            if not name.isdecimal():
                raise CorruptState(
                    f"{self.store.root / _ROUNDS / name} is no round of receivers; move it away"
                )
            if "answer" in self.store.entries(f"{_ROUNDS}/{name}"):
                rounds.append(int(name))
        return rounds

    def _folder(self) -> str:
        return f"{_ROUNDS}/{self.round:020d}"

    def _create(self, name: str, content: dict[str, Any]) -> None:
        self.store.create(name, states.dump(content).encode())

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return states.parse(self.store.read(name), str(self.store.root / name))
        except NotThere:
            return None
