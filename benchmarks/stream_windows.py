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
from trimtab.journal.event_log import EventLog
from trimtab.workloads import zipf_ids

BATCHES = 10
TURNS = 4
"""Turns with tumbling windows, of larger batches one less; the last two count."""
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
    layout: str = "auto",
    **sink: Any,
) -> list[float]:
    place = str(root / "ck")
    rows = read(spark, source)
    stream = tt.stream(rows, "word", LANES, partitioner, checkpoint=place, layout=layout)
    made = stream.aggregate(
        time="ts", window=window, slide=slide, watermark="0 seconds", **made_of()
    )
    where = sink or {"path": str(root / "out")}
    return batch_seconds(made.start(trigger={"availableNow": True}, **where))


def agree(spark: SparkSession, roots: list[Path]) -> bool:
    columns = [F.count("*"), F.sum("n"), F.sum("total")]
    totals = [spark.read.parquet(str(root / "out")).agg(*columns).first() for root in roots]
    return len(set(map(str, totals))) == 1


def peers(spark: SparkSession, rows: tuple[int, ...], results: Results, scratch: Path) -> None:
    """Tumbling windows of ten seconds, one per batch of so many rows, in ten batches.

    Spark's own query goes on getting faster for several turns: only the last two count.
    """
    for number, size in enumerate(rows):
        turns = TURNS if number == 0 else TURNS - 1
        beside(spark, ("10 seconds", None), [size] * turns, results, scratch / str(size))


def sliding_peers(spark: SparkSession, rows: int, results: Results, scratch: Path) -> None:
    """Windows of 60 s by 1 s, ten batches of so many rows, two turns: that takes Spark minutes.

    The second one counts. With fewer rows in the first, Java would compile in the second: ten
    batches of ours are over before it is done, of Spark's the first one or two.
    """
    shape = "60 seconds", "1 second"
    beside(spark, shape, [rows, rows], results, scratch / "sliding", last=1)


def beside(
    spark: SparkSession,
    shape: tuple[str, str | None],
    sizes: list[int],
    results: Results,
    scratch: Path,
    last: int = 2,
) -> None:
    """Run Spark's query and ours in turns, each with batches of a size; the `last` turns count."""
    window, slide = shape
    took: dict[str, list[float]] = {"Spark's window()": [], "Trimtab": []}
    batches: dict[str, list[float]] = {}
    steps: list[dict[str, float]] = []
    for turn, size in enumerate(sizes):
        words = scratch / f"words {size}"
        if not words.exists():
            write_batches(words, zipf_batches([size] * BATCHES, 100_000, 1.0), STEP)
        roots = [scratch / f"native {turn}", scratch / f"trimtab {turn}"]
        for name, run, root in zip(took, (native, ours), roots, strict=True):
            forget_states(spark)
            begun = time.perf_counter()
            batches[name] = run(spark, words, root, window, slide)
            took[name].append(time.perf_counter() - begun)
        assert agree(spark, roots), "the two queries differ"
        steps = [event["seconds"]["steps"] for event in EventLog(roots[1] / "ck").events()][3:]
        for root in roots:
            shutil.rmtree(root)
    what = f"windows of {window} by {slide or window}, ten batches of {sizes[-1]:,} rows, in all"
    aim = "aim: Spark's at least 1.1 (tumbling), 16 (sliding)"
    means = {name: float(np.mean(seconds[-last:])) for name, seconds in took.items()}
    results.add(what, means, "Trimtab", aim)
    for name, seconds in took.items():
        turns = " ".join(f"{v:.2f}" for v in seconds)
        of_last = " ".join(f"{v:.2f}" for v in batches[name])
        results.console.print(f"  {name}: turns of {turns}; batches of the last {of_last}")
    mean = {name: float(np.mean([s.get(name, 0.0) for s in steps])) for name in steps[0]}
    parts = ", ".join(f"{name} {s:.3f}" for name, s in mean.items())
    results.console.print(f"  Trimtab's seconds per batch: {parts}")
    shutil.rmtree(scratch)


def forget_states(spark: SparkSession) -> None:
    """Let Spark forget the states of queries that have ended: gigabytes, for a minute or two."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
    jvm.System.gc()


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
    shown: dict[str, int] = {}
    first, *others = LENGTHS.items()
    # The first one runs twice, and the second time counts: Java had yet to compile.
    for window, panes in (first, first, *others):
        root = scratch / window
        batches = list(filled(panes, rows))
        begin = 0.0
        for number, (keys, seconds) in enumerate(batches):
            write_batches(root / "words", [keys], seconds, number, begin)
            begin += seconds
        fill = len(batches) - MEASURED

        def write(frame: DataFrame, batch: Any, since: int = fill, of: str = window) -> None:
            # The windows that end while the first one fills are nobody's concern.
            if batch.id == since:
                shown[of] = frame.count()
            elif batch.id > since:
                frame.write.format("noop").mode("overwrite").save()

        shape = (window, "10 seconds", "trim", made_of)
        ours(spark, root / "words", root, *shape, function=write)
        events = list(EventLog(root / "ck").events())[fill + 1 :]
        took[window] = float(np.median([event["seconds"]["total"] for event in events]))
        read_in = max(event.get("segments_read", 0) for event in events)
        files = max(event["pane_files"] for event in events)
        steps = [event["seconds"]["steps"] for event in events]
        parts = ", ".join(f"{n} {np.median([s.get(n, 0) for s in steps]):.3f}" for n in steps[0])
        results.console.print(
            f"  {window}: at most {read_in} of {files} segments read, {shown[window]:,} results "
            f"of a window; seconds {parts}"
        )
        shutil.rmtree(root)
    results.add(
        f"closing one window by 10 s, 100,000 keys, {rows:,} rows in 10 s: {what}",
        took,
        "1 minute",
        "aim: 6 hours at most 1.5 of 1 minute",
    )
