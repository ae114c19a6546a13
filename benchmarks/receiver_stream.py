"""Planning on the critical path of a stream: told by a receiver, or found out by a look.

    .venv/bin/python benchmarks/receiver_stream.py [--batches 6] [--rate 100000] [--seed 1]

The same records once as files, of which Spark looks at every batch before it runs, and once as
batches of a receiver, whose manifests tell the keys. Figures are medians over the batches after the
first two, from the event log: seconds before a batch runs, and as a share of the interval.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

import trimtab.spark as tt
from machine import heading
from spark_runs import session
from trimtab.receive import Log, Receiver
from trimtab.workloads import zipf_ids

BLOCKS = 16
SCHEMA = "k long, at timestamp"
WARM_UP = 2


def batch_of(ids: Any, number: int, interval: int) -> pa.Table:
    """Return the records of one interval, evenly in its time."""
    step = interval * 1_000_000 // len(ids)
    times = np.arange(len(ids)) * step + number * interval * 1_000_000
    return pa.table({"k": ids, "at": pa.array(times, pa.timestamp("us", "UTC"))})


def as_files(batches: list[pa.Table], place: Path) -> Path:
    for number, batch in enumerate(batches):
        size = -(-batch.num_rows // BLOCKS)
        for part in range(BLOCKS):
            name = place / f"{number:04d}-{part:02d}.parquet"
            pq.write_table(batch.slice(part * size, size), name)
    return place


def as_log(batches: list[pa.Table], place: Path, interval: int) -> Path:
    log = Log.create(place, schema=SCHEMA, key="k", blocks=BLOCKS, interval=float(interval))
    with Receiver(log) as receiver:
        for batch in batches:
            receiver.offer(batch)
            receiver.flush()
    return place


def run(frame: Any, place: Path, interval: int, **settings: Any) -> list[dict[str, Any]]:
    checkpoint = str(place / "checkpoint")
    stream = tt.stream(
        frame, "k", lanes=BLOCKS, checkpoint=checkpoint, partitioner="prompt", **settings
    )
    made = stream.aggregate(
        time="at", window=f"{interval} seconds", watermark="0 seconds", n=F.count("*")
    )
    made.start(str(place / "out"), trigger={"availableNow": True}).awaitTermination()
    found: list[dict[str, Any]] = tt.events(checkpoint)
    return [event for event in found if event.get("rows")][WARM_UP:]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--batches", type=int, default=6)
    asked.add_argument("--rate", type=int, default=100_000)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    spark = session(2, spark__sql__shuffle__partitions=str(BLOCKS))
    spark.sparkContext.setLogLevel("ERROR")
    console = Console(width=140)
    console.print(heading("Planning before a batch runs, on Spark", given.seed))
    table = Table(
        *("interval", "rows", "keys known by", "planning", "of the interval", "whole batch"),
        title=f"{given.rate:,} records per second, Zipf 1 over 100,000 keys, {BLOCKS} blocks",
    )
    for interval in (1, 2, 3):
        rows = given.rate * interval
        ids = zipf_ids(rows * (given.batches + WARM_UP), 100_000, 1.0, seed=given.seed)
        batches = [
            batch_of(ids[number * rows : (number + 1) * rows], number, interval)
            for number in range(given.batches + WARM_UP)
        ]
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            for folder in ("files", "by-look", "by-receiver"):
                (place / folder).mkdir()
            files = as_files(batches, place / "files")
            log = as_log(batches, place / "log", interval)
            read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", BLOCKS)
            frames = {
                "a look": (read.parquet(str(files)), place / "by-look", {"look": "always"}),
                "the receiver": (
                    tt.received(spark, log, max_batches=1),
                    place / "by-receiver",
                    {},
                ),
            }
            for known, (frame, at, settings) in frames.items():
                events = run(frame, at, interval, **settings)
                planning = median(event["seconds"]["planning"] for event in events)
                total = median(event["seconds"]["total"] for event in events)
                cells = (f"{interval} s", f"{rows:,}", known, f"{1000 * planning:.0f} ms")
                table.add_row(*cells, f"{planning / interval:.2%}", f"{total:.2f} s")
    console.print(table)
    spark.stop()


if __name__ == "__main__":
    main()
