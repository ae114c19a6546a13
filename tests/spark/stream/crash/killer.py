"""Lets every query of this process run to its point, and kills the process when all are there."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.spark.stream.crash.queries import MIDDLE
from trimtab.journal import moments
from trimtab.journal.store import Store

MIDDLE_SECONDS = 0.3
"""How long after it went on from its plan a query is killed in the middle of its work."""

Points = dict[str, tuple[str, int]]
"""By query: a moment, and the first batch in which it counts."""

NAMES: dict[int, str] = {}
"""Which query runs in which thread; told by the checkpoint that the thread works on."""


class Killer:
    """Waits for all queries to come to their points, then kills this process and its Java process.

    A query that is to die in the middle of its work waits until all others have arrived, and is
    killed a moment after it went on. A query that ends without having come to its point does not
    hold the others up.
    """

    def __init__(self, root: Path, points: Points, java: int) -> None:
        self.root, self.points, self.java = root, points, java
        self.missing = {name for name, (point, _) in points.items() if point != MIDDLE}
        self.in_the_middle = {name for name, (point, _) in points.items() if point == MIDDLE}
        self.changed = threading.Condition()
        self.writing = threading.local()

    def install(self) -> None:
        """Take the place of `moments.at`, and be told of objects that are being written."""
        from trimtab.spark.stream.runner import BatchRunner

        call, fsync = BatchRunner.__call__, os.fsync

        def noted(runner: BatchRunner, rows: DataFrame, number: int) -> None:
            NAMES[threading.get_ident()] = runner.checkpoint.uri.rpartition("/")[2]
            self.writing.batch = number
            call(runner, rows, number)

        def named(write: Any) -> Any:
            def noting(store: Store, name: str, data: bytes) -> None:
                self.writing.folder = name.split("/")[0]
                try:
                    write(store, name, data)
                finally:
                    self.writing.folder = None

            return noting

        def synced(handle: int) -> None:
            fsync(handle)
            folder = getattr(self.writing, "folder", None)
            if folder is not None:
                self.wait_at(f"writing {folder}", getattr(self.writing, "batch", -1))

        BatchRunner.__call__ = noted  # type: ignore[method-assign]
        Store.create = named(Store.create)  # type: ignore[method-assign]
        Store.write_file = named(Store.write_file)  # type: ignore[method-assign]
        os.fsync = synced  # type: ignore[assignment]
        moments.at = self.wait_at

    def wait_at(self, point: str, batch: int) -> None:
        """Stop here if the query of the calling thread is to die here."""
        name = NAMES.get(threading.get_ident(), "")
        wanted = self.points.get(name)
        if wanted is None or batch < wanted[1]:
            return
        if wanted[0] == MIDDLE and point == "plan written":
            with self.changed:
                self.note(name)
                self.in_the_middle.discard(name)
                self.changed.notify_all()
                self.changed.wait_for(lambda: not self.missing and not self.in_the_middle)
            threading.Timer(MIDDLE_SECONDS, self.kill).start()
        elif wanted[0] == point:
            with self.changed:
                self.note(name)
                self.missing.discard(name)
                self.changed.notify_all()
            time.sleep(3600)

    def note(self, name: str) -> None:
        with open(self.root / "reached", "a", encoding="utf-8") as file:
            file.write(json.dumps([name, *self.points[name]]) + "\n")
            file.flush()

    def has_ended(self, name: str) -> None:
        """Wait no longer for a query that has come to its end."""
        with self.changed:
            self.missing.discard(name)
            self.in_the_middle.discard(name)
            self.changed.notify_all()

    def kill_when_all_are_there(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: not self.missing and not self.in_the_middle)
        if any(point == MIDDLE for point, _ in self.points.values()):
            time.sleep(4 * MIDDLE_SECONDS)  # a timer kills, unless that query has ended
        self.kill()

    def kill(self) -> None:
        os.kill(self.java, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def java_process(spark: SparkSession) -> int:
    """Return the id of the Java process behind a session."""
    return int(spark.sparkContext._gateway.proc.pid)


def watch_ends(killer: Killer, queries: Iterable[object]) -> None:
    """Tell the killer of queries that end by themselves; a query that fails ends the process."""

    def wait(query: object) -> None:
        try:
            query.awaitTermination()  # type: ignore[attr-defined]
        except Exception as error:
            os.write(2, f"{query.name} failed: {error}\n".encode())  # type: ignore[attr-defined]
            os.kill(killer.java, signal.SIGKILL)
            os._exit(3)
        killer.has_ended(query.name)  # type: ignore[attr-defined]

    for query in queries:
        threading.Thread(target=wait, args=(query,), daemon=True).start()
