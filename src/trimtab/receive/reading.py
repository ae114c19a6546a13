"""Several logs read as one: positions in them, the blocks between two, and what is done with.

Nothing here knows Spark. Its data source (`trimtab.spark.source`) asks these questions in Python
processes beside the driver and in the executors, so that little is imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Self

import pyarrow as pa

from trimtab.errors import CorruptState, InvalidArgument, NotThere
from trimtab.receive.ddl import arrow_schema
from trimtab.receive.log import Log
from trimtab.receive.manifest import BatchManifest, Block
from trimtab.receive.processed import take_processed

POSITION = "trimtab.log"
"""The one field of a position: the newest batch of each log, by the log's path."""

MOST_ROWS = 1 << 15
"""Rows that are handed on at once: some megabytes, whatever the size of a block."""

Position = dict[str, dict[str, int]]
"""Where a reader is: `{"trimtab.log": {path: number of the newest batch it has}}`."""


def batches_of(position: object) -> dict[str, int] | None:
    """Return the newest batch of each log by its path; None if it is no position of ours.

    >>> batches_of({"trimtab.log": {"/logs/a": 7}})
    {'/logs/a': 7}
    >>> batches_of({"offset": 7}) is None
    True
    """
    if not isinstance(position, dict) or list(position) != [POSITION]:
        return None
    found = position[POSITION]
    if not isinstance(found, dict) or not all(isinstance(n, int) for n in found.values()):
        raise CorruptState(f"a position in logs is a batch for each path; got {found!r:.200}")
    return found


class LogReader:
    """The logs of one stream: what is new in them, and how it is read.

    Parameters
    ----------
    paths
        Directories of the logs, at least one. All have the same columns and key.
    max_batches
        Batches of each log between two positions, at most; None for all that are there.
    """

    def __init__(self, paths: Sequence[str], max_batches: int | None = None) -> None:
        if not paths:
            raise InvalidArgument("give the directory of at least one log; got none")
        if len({os.path.realpath(path) for path in paths}) < len(paths):
            raise InvalidArgument(f"a log is given twice, and would be read twice: {list(paths)!r}")
        self.logs = {str(path): Log.open(path) for path in paths}
        self.max_batches = max_batches
        self._stop_at: dict[str, int] | None = None
        first, *others = self.logs.items()
        for path, log in others:
            if (log.arrow_schema, log.key) != (first[1].arrow_schema, first[1].key):
                raise InvalidArgument(
                    f"log {path!r} has columns {log.schema!r} and key {list(log.key)}, log "
                    f"{first[0]!r} has {first[1].schema!r} and {list(first[1].key)}; logs that "
                    "are read together must agree in both"
                )
        self.schema: str = first[1].schema
        self.key: tuple[str, ...] = tuple(first[1].key)

    @classmethod
    def of_options(cls, options: Mapping[str, str], columns: str | None = None) -> Self:
        """Open the logs that options of the data source name.

        Parameters
        ----------
        options
            `logs`, a JSON list of paths, or `path`, a single one; `max_batches`.
        columns
            The columns that the reader is expected to give, as Spark writes a schema; None for
            those of the logs.
        """
        text, path = options.get("logs"), options.get("path")
        if text is None and path is None:
            raise InvalidArgument("give the directory of a log, as in load('LOG')")
        paths = [str(path)] if text is None else json.loads(text)
        most = options.get("max_batches")
        opened = cls(paths, None if most is None else int(most))
        log = opened.logs[paths[0]]
        if columns is not None and arrow_schema(columns) != log.arrow_schema:
            raise InvalidArgument(
                f"log {paths[0]!r} has the columns {log.schema!r}; it was asked for {columns!r}; "
                "give no schema"
            )
        return opened

    def first(self) -> Position:
        """Return the position before the oldest batch that each log still has."""
        return {POSITION: {path: log.oldest() - 1 for path, log in self.logs.items()}}

    def newest(self) -> Position:
        """Return the position after the newest batch of each log."""
        return {POSITION: {path: log.newest() for path, log in self.logs.items()}}

    def stop_at_newest(self) -> None:
        """Give nothing from now on that is not there yet."""
        self._stop_at = self.newest()[POSITION]

    def after(self, start: object = None) -> Position:
        """Return the next position: at most `max_batches` of each log on from `start`.

        Without a start, the position after all that is there.
        """
        newest = dict(self.newest()[POSITION])
        if self._stop_at is not None:
            newest = {path: min(n, self._stop_at[path]) for path, n in newest.items()}
        if start is None:
            return {POSITION: newest}
        begun = self._batches(start)
        most = self.max_batches
        ends = {}
        for path, n in newest.items():
            # A log that is behind what was read of it is another log, or an older copy.
            if n < begun[path]:
                raise CorruptState(
                    f"log {path!r} ends with batch {n}, and batch {begun[path]} was read from it: "
                    "it was replaced; put it back, or give another checkpoint"
                )
            ends[path] = n if most is None else min(n, begun[path] + most)
        return {POSITION: ends}

    def _batches(self, position: object) -> dict[str, int]:
        """Return the newest batch of every log in a position; logs that are new to it begin."""
        found = batches_of(position)
        if found is None:
            raise CorruptState(
                f"{position!r:.200} is no position in a log: the checkpoint is of another source; "
                "give another one"
            )
        unknown = [path for path in found if path not in self.logs]
        if unknown:
            raise InvalidArgument(
                f"the stream has read log {unknown[0]!r} before, and it is not among those that "
                f"were given: {', '.join(map(repr, self.logs))}; give it too, or another checkpoint"
            )
        return {path: found.get(path, log.oldest() - 1) for path, log in self.logs.items()}

    def between(self, start: object, end: object) -> Iterator[tuple[str, int]]:
        """Return path and number of every batch after `start`, up to `end`."""
        begun, ended = self._batches(start), self._batches(end)
        for path in self.logs:
            for number in range(begun[path] + 1, ended[path] + 1):
                yield path, number

    def manifest(self, path: str, number: int) -> BatchManifest:
        """Return the manifest of a batch; one that was forgotten is refused with the reason."""
        try:
            return self.logs[path].manifest(number)
        except NotThere as error:
            done = self.logs[path].committed().batch
            if number > done:
                raise
            raise NotThere(
                f"batch {number} of log {path!r} was removed, since all up to batch {done} were "
                "committed: another query reads this log, or the checkpoint is an older copy; let "
                "one query read a log, or start with a new checkpoint from what is there"
            ) from error

    def parts(self, start: object, end: object) -> list[dict[str, Any]]:
        """Return what is read in one task each: a block, with those of its place in other batches.

        One batch gives a part for each of its blocks. Where several batches wait, their blocks of
        the same place are read by one task: each batch is level, and so are they together.
        """
        found: dict[tuple[str, int], list[tuple[int, Block]]] = {}
        for path, number in self.between(start, end):
            for entry in self.manifest(path, number).blocks:
                found.setdefault((path, entry.block), []).append((number, entry))
        return [
            {"log": path, "blocks": [[number, asdict(entry)] for number, entry in entries]}
            for (path, _), entries in sorted(found.items())
        ]

    def read(self, part: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """Read the blocks of a part; one that is missing, cut or altered is refused by name."""
        log = self.logs[part["log"]]
        for number, entry in part["blocks"]:
            table = log.read_block(number, Block(**entry))
            yield from table.to_batches(max_chunksize=MOST_ROWS)

    def commit(self, end: object) -> None:
        """Let the receivers forget all batches up to a position."""
        for path, number in self._batches(end).items():
            if number >= 0:
                seconds, rows = take_processed(path, number)
                self.logs[path].commit(number, seconds, rows)
