"""Streams on the log of a receiver: the highest rate before delay grows, and latency per record.

    python benchmarks/received.py                      # intervals of 1, 2 and 3 s: some ten minutes
    python benchmarks/received.py --interval 1 --planners prompt,hash --zipf 1.0
    python benchmarks/received.py --ramp               # tasks that follow a rate up and down

A receiver in this process takes rows at a rate that grows step by step, and releases a batch for
every interval, laid out by a planner or router. The query works on the rows in their blocks (map)
and merges the partial results of each key (reduce). The map waits a millisecond for each row, as if
it called a service, so that tasks overlap on however few cores. A rate is kept up with if no batch
but the one that is worked on waits when its step ends. Latency is from the moment a row is offered
to the moment the results of its batch are there, in steps that were kept up with; rows arrive
evenly between the first of a batch and its freeze.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

import trimtab.spark as tt
from machine import heading
from spark_runs import session
from trimtab.journal.event_log import EventLog
from trimtab.metrics import max_over_mean
from trimtab.receive import receiver
from trimtab.receive.log import Log
from trimtab.workloads import zipf_ids

SEED = 7
KEYS = 100_000
BLOCKS = 8
"""Blocks of a batch, and task slots."""
SCHEMA = "k string, x long, ts timestamp"
PLANNERS = ("shuffle", "hash", "prompt")
"""At a constant rate time-based blocks are what `shuffle` makes: equal, every key everywhere."""
RAMP = (1, 2, 3, 2, 1)
"""Multiples of the first rate, while tasks follow."""
CHUNKS = 20
"""Offers in an interval."""
STEP_INTERVALS = 5
"""Intervals for which a rate is held."""
GROWTH = 1.25
WARM_UP_SECONDS = 12.0
"""At the first rate, at least, before anything is judged."""
ROW_SECONDS = 1e-3
"""How long the map waits for each row."""


@dataclass
class Release:
    """A batch of the log: rows, and when they came and could be read."""

    rows: int
    opened: float
    frozen: float
    released: float
    level: float


@dataclass
class Found:
    """What one partitioner came to at one interval."""

    planner: str
    interval: float
    kept_up: int
    failed_at: int | None
    level: float
    latency: NDArray[np.float64]
    processing: float


class Feed:
    """Offers rows at a rate that may be changed, in a thread of its own."""

    def __init__(self, into: Any, interval: float, zipf: float) -> None:
        self.into, self.pause = into, interval / CHUNKS
        self.rate = 0
        self._ids = zipf_ids(1 << 20, KEYS, zipf, seed=SEED)
        self._names = pa.array([f"key-{i:06d}" for i in range(KEYS)])
        self._at, self._stopping = 0, False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._thread.join()

    def _run(self) -> None:
        following = time.monotonic()
        while not self._stopping:
            self._offer(int(self.rate * self.pause))
            following += self.pause
            time.sleep(max(0.0, following - time.monotonic()))

    def _offer(self, rows: int) -> None:
        if not rows:
            return
        ids = np.take(self._ids, np.arange(self._at, self._at + rows), mode="wrap")
        self._at += rows
        now = np.full(rows, time.time_ns() // 1000)
        self.into.offer(
            pa.table(
                {
                    "k": self._names.take(pa.array(ids)),
                    "x": pa.array(ids.astype(np.int64)),
                    "ts": pa.array(now, pa.timestamp("us", "UTC")),
                }
            )
        )


def waited(rows: pd.Series) -> pd.Series:
    """Wait for each row."""
    time.sleep(ROW_SECONDS * len(rows))
    return rows


def query(
    spark: SparkSession, log: Path, place: Path, trigger: str = "0 seconds", **options: Any
) -> Any:
    """Start the query: a map that waits for each row, and a reduce."""
    spark.udf.register("waited", F.pandas_udf(waited, "long"))
    frame = tt.received(spark, log, max_batches=1)
    counted = tt.stream(frame, "k", checkpoint=str(place / "ck"), **options).aggregate(
        time="ts",
        window="10 seconds",
        watermark="30 seconds",
        n="count(*)",
        work="max(waited(x))",
    )
    return counted.start(
        function=lambda rows, batch: rows.write.format("noop").mode("overwrite").save(),
        output_mode="update",
        trigger={"processingTime": trigger},
    )


def waiting(log: Path, released: dict[int, Release]) -> int:
    """Return how many batches Spark is not done with; it says so of one when it begins the next."""
    return max(released) - Log.open(log).committed().batch


def warm_up(log: Path, released: dict[int, Release]) -> None:
    """Wait until Spark has compiled, started its Python processes and caught up."""
    begun = time.monotonic()
    time.sleep(WARM_UP_SECONDS)
    while waiting(log, released) > 2 and time.monotonic() - begun < 6 * WARM_UP_SECONDS:
        time.sleep(0.5)


def search(spark: SparkSession, planner: str, interval: float, zipf: float, first: int) -> Found:
    """Raise the rate until batches wait at the end of a step."""
    place = Path(tempfile.mkdtemp(prefix="received-"))
    released: dict[int, Release] = {}

    def note(manifest: Any) -> None:
        rows = np.array([block.rows for block in manifest.blocks], dtype=float)
        level = max_over_mean(np.append(rows, np.zeros(BLOCKS - rows.size)))
        moments = (manifest.opened, manifest.frozen, manifest.released)
        released[manifest.batch] = Release(manifest.rows, *moments, level)

    settings = {"schema": SCHEMA, "key": "k", "interval": interval, "blocks": BLOCKS}
    try:
        with receiver(
            place / "log", **settings, planner=planner, waiting=1000, on_release=note
        ) as into:
            feed = Feed(into, interval, zipf)
            feed.rate = first
            running = query(spark, place / "log", place)
            feed.start()
            warm_up(place / "log", released)
            rate, kept_up, failed_at, begun = first, 0, None, max(released) + 1
            while failed_at is None and rate < 100 * first:
                feed.rate = rate
                time.sleep(STEP_INTERVALS * interval)
                if running.exception() is not None:
                    raise running.exception()
                late = waiting(place / "log", released) > 2
                kept_up, failed_at = (kept_up, rate) if late else (rate, None)
                rate = int(rate * GROWTH)
            feed.stop()
            running.processAllAvailable()
            running.stop()
        return _found(place, released, begun, planner, interval, kept_up, failed_at)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _found(
    place: Path,
    released: dict[int, Release],
    begun: int,
    planner: str,
    interval: float,
    kept_up: int,
    failed_at: int | None,
) -> Found:
    """Read latencies from the event log and Spark's offsets, up to the step that failed."""
    latencies, seconds = [], []
    first = 0
    for event in EventLog(place / "ck").events():
        note = (place / "ck" / "spark" / "offsets" / str(event["batch"])).read_text().splitlines()
        (last,) = json.loads(note[2])["trimtab.log"].values()
        done = datetime.fromisoformat(event["at"]).timestamp()
        for number in range(first, last + 1):
            batch = released[number]
            sustained = batch.rows <= 1.05 * kept_up * interval
            if number >= begun and sustained:
                arrived = np.linspace(batch.opened, batch.frozen, 50)
                latencies.append(done - arrived)
                seconds.append(event["seconds"]["total"])
        first = last + 1
    level = float(np.mean([batch.level for batch in released.values()]))
    latency = np.concatenate(latencies) if latencies else np.zeros(0)
    processing = float(np.mean(seconds)) if seconds else 0.0
    return Found(planner, interval, kept_up, failed_at, level, latency, processing)


def ramp(spark: SparkSession, interval: float, zipf: float, first: int) -> Table:
    """Let the rate go up and down under a stream that sets its own number of tasks."""
    place = Path(tempfile.mkdtemp(prefix="received-"))
    began: list[tuple[float, int]] = []
    settings = {"schema": SCHEMA, "key": "k", "interval": interval, "blocks": BLOCKS}
    try:
        with receiver(place / "log", **settings, waiting=1000) as into:
            feed = Feed(into, interval, zipf)
            feed.rate = first
            running = query(
                *(spark, place / "log", place, f"{interval:g} seconds"),
                lanes=2,
                autoscale={
                    "map_tasks": 2,
                    "reduce_tasks": 1,
                    "most_map_tasks": BLOCKS,
                    "batches": 1,
                },
            )
            feed.start()
            time.sleep(WARM_UP_SECONDS)
            for factor in RAMP:
                feed.rate = factor * first
                began.append((time.time(), feed.rate))
                time.sleep(2 * STEP_INTERVALS * interval)
            feed.stop()
            running.stop()
        events = list(EventLog(place / "ck").events())
    finally:
        shutil.rmtree(place, ignore_errors=True)
    table = Table(title=f"a ramp, interval {interval:g} s")
    for name in ("rows/s", "batches", "map tasks", "reduce tasks", "processing, s", "max"):
        table.add_column(name, justify="right")
    ends = [at for at, _ in began[1:]] + [np.inf]
    for (begin, rate), end in zip(began, ends, strict=True):
        during = [e for e in events if begin <= datetime.fromisoformat(e["at"]).timestamp() < end]
        seconds = [event["seconds"]["total"] for event in during] or [np.nan]
        tasks = [
            f"{min(counts)}-{max(counts)}" if (counts := [e[kind] for e in during]) else "-"
            for kind in ("map_tasks", "reduce_tasks")
        ]
        figures = (f"{np.mean(seconds):.2f}", f"{max(seconds):.2f}")
        table.add_row(f"{rate:,}", str(len(during)), *tasks, *figures)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interval", type=float, action="append", help="seconds; several allowed")
    parser.add_argument("--planners", default=",".join(PLANNERS))
    parser.add_argument("--zipf", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=1_000, help="rows per second to begin with")
    parser.add_argument("--ramp", action="store_true", help="let tasks follow a rate instead")
    given = parser.parse_args()
    console = Console(width=120)
    console.print(heading(f"A receiver's log on Spark, Zipf {given.zipf}, {KEYS:,} keys", SEED))
    table = Table()
    for name in ("interval", "laid out by", "max/mean", "rows/s kept up with", "rows/s too many"):
        table.add_column(name, justify="right")
    for name in ("processing, s", "latency p50, s", "p95", "p99"):
        table.add_column(name, justify="right")
    spark = session(BLOCKS, spark__sql__shuffle__partitions="2", spark__driver__memory="2g")
    if given.ramp:
        for interval in given.interval or (2.0,):
            console.print(ramp(spark, interval, given.zipf, given.first))
        return
    for interval in given.interval or (1.0, 2.0, 3.0):
        for planner in given.planners.split(","):
            found = search(spark, planner, interval, given.zipf, given.first)
            console.print(f"{interval:g} s, {planner}: {found.kept_up:,} rows/s kept up with")
            quantiles = np.quantile(found.latency, (0.5, 0.95, 0.99)) if found.latency.size else ()
            table.add_row(
                *(f"{interval:g} s", planner, f"{found.level:.2f}", f"{found.kept_up:,}"),
                "none" if found.failed_at is None else f"{found.failed_at:,}",
                *(f"{found.processing:.2f}", *(f"{q:.2f}" for q in quantiles)),
            )
    console.print(table)


if __name__ == "__main__":
    main()
