"""The event log of a stream: one JSON object per batch, for people, reports and the live view.

    events/<batch>.json           the line of a batch
    events/<first>-<last>.jsonl   the lines of many batches, in place of their own objects

Nothing is ever rewritten, so that any `Store` can hold it. Lines of 64 batches are brought together
in one object, and objects of 64 times 64; what is older than `KEPT_BATCHES` is removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trimtab.errors import AlreadyThere, CorruptState
from trimtab.journal.store import Store, store

FOLDER = "events/"

TOGETHER = 64
"""Objects that are brought together in one."""

KEPT_BATCHES = 1 << 18
"""Lines that are kept: three days of a batch a second. Older ones are removed by the thousands."""

_NAME = re.compile(r"events/(\d{12})(?:-(\d{12}))?\.jsonl?")


@dataclass(frozen=True)
class _Part:
    """An object of the log, and the batches that it tells of."""

    name: str
    first: int
    last: int

    @property
    def batches(self) -> int:
        return self.last - self.first + 1


class EventLog:
    """The lines of a stream's batches, in the order of the batches, each batch once.

    What is not a line of a batch is damage, and is refused by name.

    Parameters
    ----------
    where
        The checkpoint: a directory, an address, or a store.

    Examples
    --------
    >>> import tempfile
    >>> log = EventLog(tempfile.mkdtemp())
    >>> log.append({"batch": 0, "rows": 7})
    >>> [event["rows"] for event in log.events()]
    [7]
    """

    def __init__(self, where: str | os.PathLike[str] | Store) -> None:
        self._store = where if isinstance(where, Store) else store(where)

    def __bool__(self) -> bool:
        """Tell whether there is any line."""
        return bool(self._store.list(FOLDER))

    @property
    def uri(self) -> str:
        """Where the log is, for messages."""
        return f"{self._store.uri}/{FOLDER}"

    def append(self, event: dict[str, Any]) -> None:
        """Write the line of a batch; a batch that is logged again keeps its newer line."""
        batch = event["batch"]
        name = f"{FOLDER}{batch:012d}.json"
        data = (json.dumps(event) + "\n").encode()
        try:
            self._store.create(name, data)
        except AlreadyThere:
            self._store.remove(name)
            self._store.create(name, data)
        if (batch + 1) % TOGETHER == 0:
            self._bring_together(1)
            if (batch + 1) % TOGETHER**2 == 0:
                self._bring_together(TOGETHER)
                self._forget(batch - KEPT_BATCHES)

    def check(self) -> None:
        """Read the newest lines, which a start goes on from, and refuse them if damaged."""
        self.newest(TOGETHER)

    def events(self) -> Iterator[dict[str, Any]]:
        """Return the lines one by one, the oldest first."""
        return self.since(-1)

    def since(self, batch: int) -> Iterator[dict[str, Any]]:
        """Return the lines after that of a batch; objects that are older are not read."""
        before = -1
        for part in self._parts():
            if part.last <= batch:
                continue
            for event in self._lines(part, before):
                before = event["batch"]
                if before > batch:
                    yield event

    def newest(self, count: int) -> list[dict[str, Any]]:
        """Return the newest `count` lines, or all if there are fewer; the oldest comes first.

        However long the log is, only its newest objects are read.
        """
        chosen: list[_Part] = []
        held = 0
        for part in reversed(self._parts()):
            if held >= count:
                break
            chosen.append(part)
            held += part.batches
        made: list[dict[str, Any]] = []
        for part in reversed(chosen):
            made += self._lines(part, made[-1]["batch"] if made else -1)
        return made[-count:]

    def last(self) -> dict[str, Any] | None:
        """Return the newest line; None if there is no line yet."""
        found = self.newest(1)
        return found[0] if found else None

    def _objects(self) -> list[_Part]:
        """Return all objects by first batch; of those that begin together the longest is first."""
        found = []
        for name in self._store.list(FOLDER):
            match = _NAME.fullmatch(name)
            if match is None:
                raise CorruptState(
                    f"{self._store.uri}/{name} is no part of an event log; nothing else belongs "
                    "into that folder: move it elsewhere"
                )
            first = int(match[1])
            found.append(_Part(name, first, int(match[2] or first)))
        return sorted(found, key=lambda part: (part.first, -part.last))

    def _parts(self) -> list[_Part]:
        """Return the objects in order, without those that a larger one has taken the place of."""
        kept: list[_Part] = []
        for part in self._objects():
            if not kept or part.first > kept[-1].last:
                kept.append(part)
        return kept

    def _lines(self, part: _Part, before: int) -> list[dict[str, Any]]:
        where = f"{self._store.uri}/{part.name}"
        made = []
        for number, line in enumerate(self._store.read(part.name).splitlines(), start=1):
            try:
                event = json.loads(line)
                if not isinstance(event, dict) or not isinstance(event.get("batch"), int):
                    raise ValueError("it is not the line of a batch")
                if not before < event["batch"] or not part.first <= event["batch"] <= part.last:
                    raise ValueError(f"it is of batch {event['batch']}, after batch {before}")
            except ValueError as error:
                raise CorruptState(f"{where} is damaged at line {number}: {error}") from error
            before = event["batch"]
            made.append(event)
        return made

    def _bring_together(self, size: int) -> None:
        """Put parts of at most so many batches into one object, if there are many of them."""
        small = [part for part in self._parts() if part.batches <= size]
        if len(small) < 2:
            return
        first, last = small[0].first, small[-1].last
        whole = _Part(f"{FOLDER}{first:012d}-{last:012d}.jsonl", first, last)
        lines = [json.dumps(event) for part in small for event in self._lines(part, -1)]
        self._store.create(whole.name, ("\n".join(lines) + "\n").encode())
        # A crash before the last removal does no harm: readers prefer the larger object.
        for part in self._objects():
            if first <= part.first and part.last <= last and part != whole:
                self._store.remove(part.name)

    def _forget(self, before: int) -> None:
        for part in self._parts():
            if part.last < before:
                self._store.remove(part.name)
