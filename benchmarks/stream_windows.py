"""Event-time windows against Spark's own: what a batch costs, what a window's length costs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import trimtab.spark as tt
from spark_runs import Results
from stream_inputs import LANES, SEED, batch_seconds, read, write_batches, zipf_batches
from trimtab.control.machines import LaneTimes
from trimtab.journal.event_log import EventLog
from trimtab.metrics import max_over_mean
from trimtab.spark.counting.task_records import TaskRecords
from trimtab.workloads import zipf_ids

BATCHES = 10
STEP = 10.0
"""Seconds of event time in a batch, and between two of the long windows."""
LENGTHS = {"1 minute": 6, "10 minutes": 60, "1 hour": 360, "6 hours": 2160}
"""Windows, and the panes of ten seconds that are in each."""
FILLED_BY = 180
"""Panes in each of the batches that fill a window before it is measured."""
MEASURED = 6


def aggregates() -> dict[str, Any]:
    return {"n": F.count("*"), "total": F.sum("row")}


def without_inverse() -> dict[str, Any]:
    return {"n": F.count("*"), "most": F.max("row")}


def native(
    spark: SparkSession, source: Path, root: Path, window: str, slide: str | None
) -> list[float]:
    counted = (
        read(spark, source)
        .withWatermark("ts", "0 seconds")
        .groupBy(F.window("ts", window, slide), "word")
        .agg(*(column.alias(name) for name, column in aggregates().items()))
    )
    query = (
        counted.writeStream.format("parquet")
        .outputMode("append")
        .option("checkpointLocation", str(root / "ck"))
        .trigger(availableNow=True)
        .start(str(root / "out"))
    )
    return batch_seconds(query)


def ours(
    spark: SparkSession,
    source: Path,
    root: Path,
    window: str,
    slide: str | None,
    partitioner: str = "trim",
    made_of: Callable[[], dict[str, Any]] = aggregates,
    **sink: Any,
) -> list[float]:
    stream = tt.stream(read(spark, source), "word", LANES, partitioner, checkpoint=str(root / "ck"))
    made = stream.aggregate(
        time="ts", window=window, slide=slide, watermark="0 seconds", **made_of()
    )
    where = sink or {"path": str(root / "out")}
    return batch_seconds(made.start(trigger={"availableNow": True}, **where))


def agree(spark: SparkSession, roots: list[Path]) -> bool:
    columns = [F.count("*"), F.sum("n"), F.sum("total")]
    totals = [spark.read.parquet(str(root / "out")).agg(*columns).first() for root in roots]
    return len(set(map(str, totals))) == 1


def peers(
    spark: SparkSession,
    rows: tuple[int, ...],
    results: Results,
    scratch: Path,
    sliding: int | None = None,
) -> None:
    """Tumbling windows of ten seconds, one per batch of so many rows, in ten batches.

    With `sliding` rows in a batch then windows of 60 s by 1 s.
    """
    shapes: list[tuple[str, str | None, int]] = [("10 seconds", None, size) for size in rows]
    if sliding:
        shapes.append(("60 seconds", "1 second", sliding))
    for window, slide, size in shapes:
        root = scratch / f"{window} {slide} {size}"
        write_batches(root / "words", zipf_batches([size] * BATCHES, 100_000, 1.0), STEP)
        took: dict[str, float] = {}
        # The first turn warms up. Windows of 60 s by 1 s take Spark minutes: one turn is enough.
        for turn in range(2 if slide is None else 1):
            roots = [root / f"native {turn}", root / f"trimtab {turn}"]
            begun = time.perf_counter()
            by_spark = native(spark, root / "words", roots[0], window, slide)
            middle = time.perf_counter()
            by_us = ours(spark, root / "words", roots[1], window, slide)
            took = {"Spark's window()": middle - begun, "Trimtab": time.perf_counter() - middle}
            assert agree(spark, roots), "the two queries differ"
        results.add(
            f"windows of {window} by {slide or window}, ten batches of {size:,} rows, in all",
            took,
            "Trimtab",
            "aim: Spark's at least 1.1 (tumbling), 16 (sliding)",
        )
        for name, values in (("Spark's window()", by_spark), ("Trimtab", by_us)):
            results.console.print(f"  {name}: batches of " + " ".join(f"{v:.2f}" for v in values))
        steps = [event["seconds"]["steps"] for event in EventLog(roots[1] / "ck").events()][3:]
        means = {name: float(np.mean([s.get(name, 0.0) for s in steps])) for name in steps[0]}
        results.console.print(
            "  Trimtab's seconds: " + ", ".join(f"{name} {s:.3f}" for name, s in means.items())
        )
        shutil.rmtree(root)


def filled(panes: int, rows: int) -> Iterator[tuple[NDArray[Any], float]]:
    """Return batches that fill a window and then go on by one pane each, with their seconds."""
    left = panes
    number = 0
    while left > 0:
        size = min(left, FILLED_BY)
        yield zipf_ids(rows * size, 100_000, 1.0, SEED + number), STEP * size
        left -= size
        number += 1
    for more in range(MEASURED):
        yield zipf_ids(rows, 100_000, 1.0, SEED + number + more), STEP


def lengths(spark: SparkSession, rows: int, results: Results, scratch: Path) -> None:
    """Close one window by one, of more and more panes, with the same rows in each pane."""
    of_length(spark, rows, results, scratch, "count and sum", aggregates)
    of_length(spark, rows, results, scratch, "count and max, without inverse", without_inverse)


def of_length(
    spark: SparkSession,
    rows: int,
    results: Results,
    scratch: Path,
    what: str,
    made_of: Callable[[], dict[str, Any]],
) -> None:
    """Measure what a window's length costs with some aggregates."""
    took: dict[str, float] = {}
    for window, panes in LENGTHS.items():
        root = scratch / window
        batches = list(filled(panes, rows))
        begin = 0.0
        for number, (keys, seconds) in enumerate(batches):
            write_batches(root / "words", [keys], seconds, number, begin)
            begin += seconds
        fill = len(batches) - MEASURED

        def write(frame: DataFrame, batch: Any, first: int = fill) -> None:
            # The windows that end while the first one fills are nobody's concern.
            if batch.id >= first:
                frame.write.format("noop").mode("overwrite").save()

        shape = (window, "10 seconds", "trim", made_of)
        ours(spark, root / "words", root, *shape, function=write)
        events = list(EventLog(root / "ck").events())[fill + 1 :]
        took[window] = float(np.median([event["seconds"]["total"] for event in events]))
        read_in = max(event.get("segments_read", 0) for event in events)
        files = max(event["pane_files"] for event in events)
        results.console.print(f"  {window}: at most {read_in} of {files} segments read")
        shutil.rmtree(root)
    results.add(
        f"closing one window by 10 s, 100,000 keys, {rows:,} rows in 10 s: {what}",
        took,
        "1 minute",
        "aim: 6 hours at most 1.5 of 1 minute",
    )


def reduce_stage(spark: SparkSession, rows: int, results: Results, scratch: Path) -> None:
    """Show how level the reduce stage is with Prompt's buckets and by hash, at two skews.

    Without adaptive execution, so that there is a task for each bucket either way.
    """
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(LANES)}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    for skew in (1.0, 1.5):
        for how, partitioner in (("Prompt's buckets", "prompt"), ("hash", "hash")):
            root = scratch / f"{skew} {partitioner}"
            write_batches(root / "words", zipf_batches([rows] * 8, 100_000, skew), STEP)
            records, seen = TaskRecords(), list[LaneTimes]()

            def write(frame: DataFrame, _: Any, read: Any = records.read, to: Any = seen) -> None:
                frame.write.format("noop").mode("overwrite").save()
                times = read(frame.sparkSession, LANES)
                if times is not None:
                    to.append(times)

            window = ("20 seconds", "2 seconds", partitioner)
            ours(spark, root / "words", root, *window, function=write)
            # The first closings run cold, and those before the window is full are smaller.
            settled = seen[3:]
            sent = [max_over_mean(times.rows) for times in settled]
            took = [max_over_mean(np.nan_to_num(times.ends - times.starts)) for times in settled]
            results.console.print(
                f"  Zipf {skew}, {how}: max/mean of partial results per reduce task, the worst of "
                f"{len(settled)} closings {max(sent):.3f}; of its seconds, the median "
                f"{np.median(took):.3f}; aim: 1.1"
            )
            shutil.rmtree(root)
    for name, value in before.items():
        spark.conf.set(name, str(value))
