"""The queries that are killed: between them they use every operation, sink, planner and router."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupState

from tests.conftest import FRUGAL_JAVA
from tests.spark.stream.inputs import AGGREGATES, MERGED, read_stream
from trimtab.journal.event_log import EventLog
from trimtab.spark import Startable, Stream, read_state, stream
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.windows import levels, reduce_tasks, segments

QUERIES = {
    # Whether a look pays follows from seconds: two runs that are to be alike must not ask.
    "tumbling": {"partitioner": "trim", "layout": "lanes", "look": "always"},
    "sliding": {"partitioner": "kip", "layout": "source", "look": "never"},
    "merging": {"partitioner": "dalton", "layout": "auto"},
    "changes": {"partitioner": "prompt", "layout": "lanes"},
    "apply": {"partitioner": "trim", "look": "never"},
    "function": {"partitioner": "pkg"},
    "table": {"partitioner": "ch"},
    # State moves whenever lanes get more level by it, however long that took before.
    "states": {
        "partitioner": "trim",
        "least_gain": 0.0,
        "horizon": 1e9,
        "look": "never",
        "weigh_by": "rows",
    },
    "totals": {"partitioner": "kip", "least_gain": 0.0, "horizon": 1e9, "look": "never"},
}

WINDOWED = ("tumbling", "sliding", "merging", "changes")
KEYED = ("states", "totals")

MIDDLE = "in the middle"

EVERYWHERE = (
    "epoch taken",
    "batch started",
    "plan written",
    MIDDLE,
    "sink done",
    "state written",
    "cleaned up",
    "batch logged",
    # Told by the killer itself: an object is on the disk and does not have its name yet.
    "writing epochs",
    "writing plans",
    "writing state",
    "writing events",
)
"""Moments that every batch of every query comes to."""


def moments_of(name: str) -> tuple[str, ...]:
    """Return the moments at which a query can be killed."""
    found = EVERYWHERE
    if name in WINDOWED or name in KEYED:
        found += ("panes written", "writing manifests")
    if name in ("sliding", "merging"):
        found += ("further pieces written",)
    if name in ("merging", "function", "table"):
        found += ("routers gathered",)
    if name != "function":
        found += ("results written", "results listed", "writing _spark_metadata")
    return found


def merge_early(patch: Callable[[object, str, int], None]) -> None:
    """Let panes of two batches be merged, not of sixteen: a few batches come to every level.

    And let them be planned once, as batches of some thousand rows are.
    """
    for module in (levels, segments):
        patch(module, "COMPACT_AFTER", 2)
    patch(levels, "FANOUT", 2)
    patch(reduce_tasks, "LEAST_ROWS", 1)


def session(
    scratch: Path, master: str = "local[2]", more: Mapping[str, str] | None = None
) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Where a cluster inside this process keeps what its executors print.
    os.environ["SPARK_WORKER_DIR"] = str(scratch / "work")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # As many as in the tests' own session, in which the queries go on.
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.extraJavaOptions": FRUGAL_JAVA,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **(more or {}),
    }
    made = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def totals(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {"user": [rows["user"].iloc[0]], "rows": [len(rows)], "paid": [rows["price"].sum()]}
    )


TOTALS = "user string, rows long, paid double"


def followed(
    key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Count a key's rows; let a key go that has had thirty, or that has long been quiet."""
    count, most = state.get if state.exists else (0, None)
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame({"user": key, "rows": [-count], "most": [most]})
        return
    for frame in rows:
        count += len(frame)
        most = max(
            [price for price in (most, frame["price"].max()) if not pd.isna(price)], default=None
        )
    if count >= 30:
        state.remove()
    else:
        state.update((count, most))
        state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 15_000)
    yield pd.DataFrame({"user": key, "rows": [count], "most": [most]})


def keep(place: Path) -> Any:
    def write(rows: DataFrame, batch: Batch) -> None:
        # Named by the batch and written over: what a user's function owes to exactly once.
        rows.write.mode("overwrite").parquet(str(place / f"batch-{batch.id}"))

    return write


def begun(spark: SparkSession, root: Path, name: str) -> Stream:
    options: dict[str, Any] = QUERIES[name]
    frame = read_stream(spark, root / "in")
    if name == "states":
        frame = frame.withWatermark("ts", "12 seconds")
    return stream(frame, "user", 3, checkpoint=str(root / "ck" / name), **options)


def started(spark: SparkSession, root: Path, name: str) -> Any:
    """Start a query, or start it again where it was stopped."""
    made: Startable
    options: dict[str, Any] = {"trigger": {"availableNow": True}, "name": name}
    out = str(root / "out" / name)
    origin = begun(spark, root, name)
    if name == "function":
        Path(out).mkdir(parents=True, exist_ok=True)
        return origin.for_each_batch(keep(Path(out))).start(**options)
    if name == "apply":
        made = origin.apply(totals, TOTALS)
        return made.start(out, **options)
    if name == "table":
        # The catalogue dies with the process; the table's files do not.
        table = f"kept_{zlib.crc32(out.encode())}"
        spark.sql(f"CREATE TABLE IF NOT EXISTS {table} ({TOTALS}) USING parquet LOCATION '{out}'")
        return origin.apply(totals, TOTALS).start(table=table, **options)
    if name in KEYED:
        options |= {"output_mode": "update", "batch_column": "batch"}
        if name == "states":
            made = origin.apply_with_state(
                *(followed, "user string, rows long, most double", "rows long, most double"),
                timeout="EventTimeTimeout",
            )
        else:
            made = origin.running(**{word: make() for word, make in MERGED.items()})
        return made.start(out, **options)
    aggregates = MERGED if name == "merging" else AGGREGATES
    # A batch is an eighth of the long windows: their results are carried from batch to batch, or
    # condensed level by level where they cannot be taken back.
    long = ("160 seconds", "20 seconds")
    windows = {"tumbling": ("12 seconds", None), "sliding": long, "merging": long}
    window, slide = windows.get(name, ("12 seconds", "4 seconds"))
    made = origin.aggregate(
        time="ts",
        window=window,
        slide=slide,
        watermark="12 seconds",
        **{word: make() for word, make in aggregates.items()},
    )
    if name == "changes":
        options |= {"output_mode": "update", "batch_column": "batch"}
    return made.start(out, **options)


def results(spark: SparkSession, root: Path, name: str) -> list[str]:
    """Return what a reader finds of a query's results, in an order of its own."""
    place = root / "out" / name
    frame = spark.read.option("recursiveFileLookup", name == "function").parquet(str(place))
    found = sorted(map(repr, frame.collect()))
    if name in KEYED:
        # With the lane of each key, and none of them twice.
        found += sorted(map(repr, read_state(spark, str(root / "ck" / name)).collect()))
    return found


def facts(root: Path, name: str) -> list[Any]:
    """Return what the event log says of a query's batches, but for the time they took."""
    wanted = ("batch", "plan", "plan_version", "changed", "rows", "loads", "late_rows")
    events = list(EventLog(root / "ck" / name).events())
    if name == "states":
        # A query that starts again after its end looks once more, and finds nothing.
        events = [event for event in events if event["rows"] or event["state"]["timed_out"]]
    found: list[Any] = [[event[word] for word in wanted] for event in events]
    if name in KEYED:
        of_state = ("keys", "files", "changed", "moved_keys")
        found += [[event["state"][word] for word in of_state] for event in events]
    return found
