"""Input of the streaming tests: a few small files with all that goes wrong in real streams."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from trimtab.spark import Startable, Stream

START = 1_700_000_000
"""Event time of the first row, in seconds."""

SECONDS_PER_FILE = 20

NOW = {"availableNow": True}
"""A trigger that takes what is there and ends."""

SCHEMA = "user string, ts timestamp, price long, weight double, amount decimal(10,2), flag boolean"


def table(number: int, rows: int = 400, seed: int = 0) -> pa.Table:
    """Return the rows of one file: skewed keys that drift, late rows, nulls everywhere."""
    rng = np.random.default_rng((seed, number))
    keys = rng.zipf(1.5, rows) % 40 + 7 * (number // 2)
    users = [None if key == 3 else f"user{key}" for key in keys]
    begin = START + number * SECONDS_PER_FILE
    seconds = begin + rng.random(rows) * SECONDS_PER_FILE
    late = rng.random(rows)
    # Some rows are late but within the watermark, some behind it, some have no time at all.
    seconds[late < 0.1] -= 8
    seconds[late < 0.03] -= 90
    micros = [int(s * 1e6) for s in seconds]
    times = [None if none < 0.02 else m for none, m in zip(rng.random(rows), micros, strict=True)]
    prices = rng.integers(-50, 50, rows)
    missing = rng.random(rows) < 0.3
    return pa.table(
        {
            "user": pa.array(users, pa.string()),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "price": pa.array(np.where(keys % 5 == 0, 0, prices), pa.int64(), mask=missing),
            "weight": pa.array(prices / 4.0, pa.float64()),
            "amount": pa.array([Decimal(int(p)) / 100 for p in prices], pa.decimal128(10, 2)),
            "flag": pa.array(prices > 0, pa.bool_()),
        }
    )


def write_files(place: Path, count: int, seed: int = 0) -> list[Path]:
    """Write the files of a test; one file is one batch."""
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(count):
        path = place / f"{number:03d}.parquet"
        pq.write_table(table(number, seed=seed), path)
        in_order(path, number)
        paths.append(path)
    return paths


def in_order(path: Path, number: int) -> None:
    """Give a file a time of its own: Spark reads files in the order in which they were changed."""
    os.utime(path, (START + number, START + number))


def read_stream(spark: SparkSession, place: Path) -> DataFrame:
    """Read the files as a stream, one file per batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(place))


AGGREGATES: dict[str, Callable[[], Any]] = {
    "n": lambda: F.count("*"),
    "prices": lambda: F.count("price"),
    "total": lambda: F.sum("price"),
    "amount": lambda: F.sum("amount"),
}
"""Aggregates with an inverse."""

DOUBLES: dict[str, Callable[[], Any]] = {
    "mean": lambda: F.avg("price"),
    "weight": lambda: F.sum("weight"),
}
"""Sums of doubles; the weights are quarters, so that their sums are exact in any order."""

MERGED: dict[str, Callable[[], Any]] = {
    "n": lambda: F.count("*"),
    "least": lambda: F.min("price"),
    "most": lambda: F.max("amount"),
    **DOUBLES,
    "any": lambda: F.bool_or("flag"),
}
"""Aggregates of which some have none."""


def native_results(
    spark: SparkSession,
    files: list[Path],
    scratch: Path,
    *,
    window: str,
    slide: str | None,
    watermark: str,
    output_mode: str = "append",
    aggregates: dict[str, Callable[[], Any]] = AGGREGATES,
) -> list[Row]:
    """Return what Spark's own windowed aggregation makes of the files, arriving one by one.

    Each file is waited for, so that Spark's query has caught up when the next one comes; a query
    that lags behind lets rows in that are up to one batch later.
    """
    place = scratch / "native-in"
    place.mkdir(parents=True)
    name = f"native_{abs(hash(str(scratch)))}"
    over = F.window("ts", window, slide) if slide else F.window("ts", window)
    query = (
        read_stream(spark, place)
        .withWatermark("ts", watermark)
        .groupBy(over, "user")
        .agg(*(make().alias(word) for word, make in aggregates.items()))
        .writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(scratch / "native-checkpoint"))
        .outputMode(output_mode)
        .start()
    )
    try:
        for path in files:
            (place / f".{path.name}").write_bytes(path.read_bytes())
            (place / f".{path.name}").rename(place / path.name)
            query.processAllAvailable()
        return sorted_rows(spark.table(name))
    finally:
        query.stop()


def sorted_rows(df: DataFrame) -> list[Row]:
    """Return the rows in an order of their own, so that two results can be compared."""
    return sorted(df.collect(), key=repr)


def windowed(made: Stream, **options: Any) -> Startable:
    """Return the tests' usual windows over a stream, with other options where they are given."""
    asked = {"time": "ts", "window": "10 seconds", "watermark": "5 seconds", "n": F.count("*")}
    return made.aggregate(**{**asked, **options})


def whole(spark: SparkSession, files: list[Path]) -> DataFrame:
    """Return all files as one batch frame."""
    return spark.read.schema(SCHEMA).parquet(*map(str, files))
