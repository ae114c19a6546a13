"""A driver that kills itself: runs several queries and dies once each has reached its point.

    python -m tests.spark.stream.crash.child <directory> '{"tumbling": ["plan written", 1], ...}'

Every query stops at the point and batch it is given, and waits there; when all have arrived, this
process and its Java process get SIGKILL. What was reached is in the file `reached`, one line per
query and point.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.conftest import FRUGAL_JAVA
from tests.spark.stream.inputs import AGGREGATES, MERGED, read_stream
from trimtab.journal import moments
from trimtab.spark import Startable, Stream, stream
from trimtab.spark.stream.batch import Batch

QUERIES = {
    "tumbling": {"partitioner": "trim", "layout": "lanes"},
    "sliding": {"partitioner": "kip", "layout": "source"},
    "merging": {"partitioner": "dalton", "layout": "auto"},
    "changes": {"partitioner": "prompt", "layout": "lanes"},
    "apply": {"partitioner": "trim"},
    "function": {"partitioner": "pkg"},
}
"""Six queries that between them use every kind of operation, sink, planner and router."""

MIDDLE = "in the middle"
MIDDLE_SECONDS = 0.3
"""How long after it went on from its plan a query is killed in the middle of its work."""


def session(scratch: Path, master: str = "local[2]") -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # As many as in the tests' own session, in which the queries go on.
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.extraJavaOptions", FRUGAL_JAVA)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    return made


def totals(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {"user": [rows["user"].iloc[0]], "rows": [len(rows)], "paid": [rows["price"].sum()]}
    )


def keep(place: Path) -> Any:
    def write(rows: DataFrame, batch: Batch) -> None:
        # Named by the batch and written over: what a user's function owes to exactly once.
        rows.write.mode("overwrite").parquet(str(place / f"batch-{batch.id}"))

    return write


def begun(spark: SparkSession, root: Path, name: str) -> Stream:
    options: dict[str, Any] = QUERIES[name]
    frame = read_stream(spark, root / "in")
    return stream(frame, "user", 3, checkpoint=str(root / "ck" / name), **options)


def started(spark: SparkSession, root: Path, name: str) -> Any:
    made: Startable
    options: dict[str, Any] = {"trigger": {"availableNow": True}, "name": name}
    out = str(root / "out" / name)
    origin = begun(spark, root, name)
    if name == "function":
        Path(out).mkdir(parents=True, exist_ok=True)
        return origin.for_each_batch(keep(Path(out))).start(**options)
    if name == "apply":
        made = origin.apply(totals, "user string, rows long, paid double")
        return made.start(out, **options)
    aggregates = MERGED if name == "merging" else AGGREGATES
    made = origin.aggregate(
        time="ts",
        window="12 seconds",
        slide=None if name == "tumbling" else "4 seconds",
        watermark="12 seconds",
        **{word: make() for word, make in aggregates.items()},
    )
    if name == "changes":
        options |= {"output_mode": "update", "batch_column": "batch"}
    return made.start(out, **options)


class Killer:
    """Lets every query run to its point and kills this process when all are there.

    A query that is to die in the middle of its work waits until all others have arrived, and is
    killed a moment after it went on.
    """

    def __init__(self, root: Path, points: dict[str, tuple[str, int]], java: int) -> None:
        self.root, self.points, self.java = root, points, java
        self.missing = {name for name, (point, _) in points.items() if point != MIDDLE}
        self.in_the_middle = {name for name, (point, _) in points.items() if point == MIDDLE}
        self.changed = threading.Condition()

    def wait_at(self, point: str, batch: int) -> None:
        """Take the place of `moments.at`: the calling thread belongs to one query."""
        name = NAMES.get(threading.get_ident(), "")
        wanted = self.points.get(name)
        if wanted is None or wanted[1] != batch:
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
            os.fsync(file.fileno())

    def kill_when_all_are_there(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: not self.missing and not self.in_the_middle)
        if any(point == MIDDLE for point, _ in self.points.values()):
            time.sleep(60)  # a timer kills
        self.kill()

    def kill(self) -> None:
        os.kill(self.java, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


NAMES: dict[int, str] = {}
"""Which query runs in which thread; told by the checkpoint that the thread works on."""


def tell_threads_apart() -> None:
    """Note the query's name whenever a batch starts."""
    from trimtab.spark.stream.runner import BatchRunner

    original = BatchRunner.__call__

    def noted(self: BatchRunner, rows: DataFrame, number: int) -> None:
        NAMES[threading.get_ident()] = self.checkpoint.root.name
        original(self, rows, number)

    BatchRunner.__call__ = noted  # type: ignore[method-assign]


def main(root: Path, points: dict[str, tuple[str, int]]) -> None:
    spark = session(root)
    tell_threads_apart()
    killer = Killer(root, points, spark.sparkContext._gateway.proc.pid)
    moments.at = killer.wait_at
    for name in points:
        started(spark, root, name)
    killer.kill_when_all_are_there()


if __name__ == "__main__":
    F.lit  # noqa: B018 - the functions of Spark are loaded before threads ask for them
    main(Path(sys.argv[1]), {k: tuple(v) for k, v in json.loads(sys.argv[2]).items()})
