"""The event log of a stream: one JSON line per batch, read by people, the live view and tests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimtab.errors import CorruptState

FILE = "eventlog.jsonl"


class EventLog:
    """A file of lines, the batches in order, each batch once.

    A line that a crash has cut short is taken away when the log is next written to; a batch that
    runs again takes the place of its first run. Everything else that is not a line of ours is
    damage, and refused.

    Parameters
    ----------
    directory
        The checkpoint directory.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._ends: list[tuple[int, int]] | None = None

    def append(self, event: dict[str, Any]) -> None:
        """Write the line of a batch; lines of this batch and of later ones are replaced."""
        ends = self._scanned()
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
        # Only the newest lines can ever be replaced.
        self._ends = ends[-16:]

    def check(self) -> None:
        """Read the whole log and refuse it if it is damaged."""
        self._ends = None
        self._scanned()

    def events(self) -> Iterator[dict[str, Any]]:
        """Go through the lines, the oldest first, without one that is still being written."""
        for event, _ in self._lines():
            yield event

    def last(self) -> dict[str, Any] | None:
        """Return the newest line, reading no more of the file than that takes."""
        if not self.path.exists():
            return None
        with open(self.path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            reach = 1 << 16
            while True:
                start = max(0, size - reach)
                file.seek(start)
                lines = file.read(size - start).split(b"\n")
                # The first piece may be half a line, the last is what follows the last line's end.
                whole = lines[:-1] if start == 0 else lines[1:-1]
                if whole or start == 0:
                    break
                reach *= 4
        return self._parsed(whole[-1], "its last line") if whole else None

    def _scanned(self) -> list[tuple[int, int]]:
        if self._ends is None:
            self._ends = [(event["batch"], end) for event, end in self._lines()][-16:]
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
                if event["batch"] <= before:
                    raise CorruptState(
                        f"{self.path} is damaged: line {number} is of batch {event['batch']}, "
                        f"after batch {before}"
                    )
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
