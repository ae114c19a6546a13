"""Streams that are benchmarked: a file is a micro-batch, and a function is called with each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

import trimtab.spark as tt
from trimtab.workloads import zipf_ids

SEED = 7
LANES = 16
START = 1_700_000_000
"""Event time of the first row, in seconds."""
SCHEMA = "word long, ts timestamp, row long"


def write_batches(
    place: Path,
    batches: Iterable[NDArray[Any]],
    seconds: float,
    start: int = 0,
    begin: float | None = None,
) -> None:
    """Write a file per batch of keys, its event times spread over so many seconds.

    `start` is the number of the first file: more can be written where some are. `begin` is the
    second at which it begins, where those before were of other lengths.
    """
    place.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng((SEED, start))
    first = start << 32
    for number, keys in enumerate(batches, start):
        since = seconds * number if begin is None else begin + seconds * (number - start)
        times = START + since + seconds * np.sort(rng.random(keys.size))
        table = pa.table(
            {
                "word": pa.array(keys, pa.int64()),
                "ts": pa.array((times * 1e6).astype(np.int64), pa.timestamp("us", "UTC")),
                "row": pa.array(np.arange(first, first + keys.size), pa.int64()),
            }
        )
        first += keys.size
        path = place / f"{number:04d}.parquet"
        # Several row groups, so that a file gives every core something to read.
        pq.write_table(table, path, row_group_size=max(1, keys.size // 8))
        # Spark takes files by age; a second between them keeps the batches in order.
        os.utime(path, (START + number, START + number))


def zipf_batches(counts: Sequence[int], keys: int, z: float) -> Iterator[NDArray[Any]]:
    """Return batches of one stream: the same keys are hot in all of them."""
    ids = zipf_ids(sum(counts), keys, z, SEED)
    yield from np.split(ids, np.cumsum(counts)[:-1])


def read(spark: SparkSession, place: Path) -> DataFrame:
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return source.parquet(str(place))


def batch_seconds(query: Any) -> list[float]:
    """Wait for the query's end; give the time of each batch that had rows."""
    query.awaitTermination()
    took = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress]
    rows = [p["numInputRows"] for p in query.recentProgress]
    return [seconds for seconds, count in zip(took, rows, strict=True) if count]


def written(rows: DataFrame, _: Any) -> None:
    rows.write.format("noop").mode("overwrite").save()


def plain_batches(spark: SparkSession, source: Path, root: Path, work: Any) -> list[float]:
    query = (
        read(spark, source)
        .writeStream.foreachBatch(lambda rows, n: work(rows.repartition(LANES, "word"), n))
        .option("checkpointLocation", str(root))
        .trigger(availableNow=True)
        .start()
    )
    return batch_seconds(query)


def our_batches(
    spark: SparkSession,
    source: Path,
    root: Path,
    work: Any,
    partitioner: str = "trim",
    **options: Any,
) -> list[float]:
    frame = read(spark, source)
    stream = tt.stream(frame, "word", LANES, partitioner, checkpoint=str(root), **options)
    return batch_seconds(stream.for_each_batch(work).start(trigger={"availableNow": True}))
