"""The event log of a stream: one JSON line per batch, for people, reports and the live view."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimtab.errors import CorruptState

FILE = "eventlog.jsonl"

_REPLACEABLE = 16
"""Lines whose ends are remembered: a batch that runs again is nearly always the newest."""
_REACH = 1 << 16
"""Bytes of the file's end that are read first in search of the newest lines."""


class EventLog:
    """A file with one line per batch, in the order of the batches.

    A batch that runs again replaces the line of its first run. A line that a crash has cut short
    is not read, and is removed by the next `append`. Anything else that is not such a line is
    damage, and is refused.

    Parameters
    ----------
    directory
        The checkpoint directory.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._ends: list[tuple[int, int]] | None = None

    def append(self, event: dict[str, Any]) -> None:
        """Write the line of a batch; it replaces the lines of this batch and of later ones."""
        ends = self._scanned()
        if ends and ends[0][0] >= event["batch"]:
            # Far back, before the lines that are remembered.
            ends = [(logged["batch"], end) for logged, end in self._lines()]
        while ends and ends[-1][0] >= event["batch"]:
            ends.pop()
        start = ends[-1][1] if ends else 0
        line = (json.dumps(event) + "\n").encode()
        with open(self.path, "ab") as file:
            file.truncate(start)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        ends.append((event["batch"], start + len(line)))
        self._ends = ends[-_REPLACEABLE:]

    def check(self) -> None:
        """Read the whole log and refuse it if it is damaged."""
        self._ends = None
        self._scanned()

    def events(self) -> Iterator[dict[str, Any]]:
        """Return the whole lines one by one, the oldest first."""
        for event, _ in self._lines():
            yield event

    def newest(self, count: int) -> list[dict[str, Any]]:
        """Return the newest `count` lines, or all if there are fewer; the oldest comes first.

        However long the log is, only its end is read.
        """
        made: list[dict[str, Any]] = []
        for line in self._last_lines(count):
            event = self._parsed(line, "one of its last lines")
            self._check_order(made[-1]["batch"] if made else -1, event, "one of its last lines")
            made.append(event)
        return made

    def last(self) -> dict[str, Any] | None:
        """Return the newest line; None if there is no line yet."""
        found = self.newest(1)
        return found[0] if found else None

    def _last_lines(self, count: int) -> list[bytes]:
        if not self.path.exists():
            return []
        with open(self.path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            reach = _REACH
            while True:
                start = max(0, size - reach)
                file.seek(start)
                lines = file.read(size - start).split(b"\n")
                # The first piece may be half a line, the last is what follows the last line's end.
                whole = lines[:-1] if start == 0 else lines[1:-1]
                if len(whole) >= count or start == 0:
                    return whole[-count:]
                reach *= 4

    def _scanned(self) -> list[tuple[int, int]]:
        if self._ends is None:
            self._ends = [(event["batch"], end) for event, end in self._lines()][-_REPLACEABLE:]
        return self._ends

    def _lines(self) -> Iterator[tuple[dict[str, Any], int]]:
        if not self.path.exists():
            return
        with open(self.path, "rb") as file:
            end, before = 0, -1
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                end += len(line)
                event = self._parsed(line, f"line {number}")
                self._check_order(before, event, f"line {number}")
                before = event["batch"]
                yield event, end

    def _parsed(self, line: bytes, where: str) -> dict[str, Any]:
        try:
            event = json.loads(line)
            if not isinstance(event, dict) or not isinstance(event.get("batch"), int):
                raise ValueError("it is not the line of a batch")
        except ValueError as error:
            raise CorruptState(f"{self.path} is damaged at {where}: {error}") from error
        return event

    def _check_order(self, before: int, event: dict[str, Any], where: str) -> None:
        if event["batch"] <= before:
            raise CorruptState(
                f"{self.path} is damaged: {where} is of batch {event['batch']}, after batch "
                f"{before}"
            )
