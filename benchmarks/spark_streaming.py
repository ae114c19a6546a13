"""Streams against Spark's own queries and partitioners against each other, ratios in one run.

    python benchmarks/spark_streaming.py                 # small sizes, some minutes
    python benchmarks/spark_streaming.py --full          # the sizes that the aims are for
    python benchmarks/spark_streaming.py --only sliding,tumbling,overhead,empty,surprise,drift,rate
    python benchmarks/spark_streaming.py --only peers,large,slides,lengths,reduce,forward  # windows

One file is one micro-batch, and files are taken as fast as they can be. A function that waits
stands for one that calls a service: it sleeps one millisecond per row, so that 16 tasks overlap on
however many cores. `rate` looks for the highest number of rows per interval that a partitioner
keeps up with: waves of batches, level or sinusoidal, grow in steps, and it keeps up as long as no
delay is left at the end of a wave.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import trimtab.spark as tt
from machine import heading
from spark_runs import Results, options, session
from stream_inputs import (
    LANES,
    SEED,
    batch_seconds,
    our_batches,
    plain_batches,
    read,
    write_batches,
    written,
    zipf_batches,
)
from stream_reduce import forward, reduce_stage
from stream_waits import drift, rate, surprise
from stream_windows import lengths, peers, sliding_peers


@dataclass(frozen=True)
class Sizes:
    sliding_rows: tuple[int, ...]
    tumbling_rows: tuple[int, ...]
    window_keys: int
    batch_rows: int
    wait_rows: int
    drift_batches: int
    steps: int
    peer_rows: tuple[int, ...]
    large_rows: tuple[int, ...]
    pane_rows: int


QUICK = Sizes(
    sliding_rows=(20_000, 50_000),
    tumbling_rows=(200_000,),
    window_keys=10_000,
    batch_rows=200_000,
    wait_rows=8_000,
    drift_batches=12,
    steps=4,
    peer_rows=(50_000,),
    large_rows=(100_000,),
    pane_rows=200,
)
FULL = Sizes(
    sliding_rows=(50_000, 100_000, 200_000, 1_000_000, 2_000_000),
    tumbling_rows=(4_000_000, 8_000_000),
    window_keys=100_000,
    batch_rows=1_000_000,
    wait_rows=16_000,
    drift_batches=30,
    steps=8,
    peer_rows=(200_000, 1_000_000),
    large_rows=(4_000_000, 8_000_000),
    pane_rows=5_000,
)


def native(spark: SparkSession, source: Path, root: Path, slide: str | None) -> list[float]:
    counted = (
        read(spark, source)
        .withWatermark("ts", "5 seconds")
        .groupBy(F.window("ts", "60 seconds", slide), "word")
        .agg(F.count("*").alias("n"))
    )
    query = (
        counted.writeStream.format("parquet")
        .outputMode("append")
        .option("checkpointLocation", str(root / "ck"))
        .trigger(availableNow=True)
        .start(str(root / "out"))
    )
    return batch_seconds(query)


def ours(spark: SparkSession, source: Path, root: Path, slide: str | None) -> list[float]:
    query = (
        tt.stream(read(spark, source), "word", LANES, checkpoint=str(root / "ck"))
        .aggregate(
            time="ts", window="60 seconds", slide=slide, watermark="5 seconds", n=F.count("*")
        )
        .start(str(root / "out"), output_mode="append", trigger={"availableNow": True})
    )
    return batch_seconds(query)


def both_agree(spark: SparkSession, roots: list[Path]) -> bool:
    """Say whether the results of several queries have the same rows and the same counts."""
    totals = [
        spark.read.parquet(str(root / "out")).agg(F.count("*"), F.sum("n")).first()
        for root in roots
    ]
    return len(set(map(str, totals))) == 1


def sliding(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """Look for the most rows in ten seconds of event time that a query is through with in ten.

    From the eighth batch on windows close in every batch, which is when the two are compared.
    """
    batches, settled, interval = 12, 8, 10.0
    took: dict[str, dict[int, float]] = {"Spark's window()": {}, "Trimtab": {}}
    for rows in sizes.sliding_rows:
        root = scratch / str(rows)
        keys = zipf_batches([rows] * batches, sizes.window_keys, 1.0)
        write_batches(root / "words", keys, interval)
        # Beyond the interval a query is behind for good, and more rows take it only longer.
        if not any(seconds > interval for seconds in took["Spark's window()"].values()):
            seconds = native(spark, root / "words", root / "native", "1 second")
            took["Spark's window()"][rows] = float(np.mean(seconds[settled:]))
        seconds = ours(spark, root / "words", root / "trimtab", "1 second")
        took["Trimtab"][rows] = float(np.mean(seconds[settled:]))
        if rows in took["Spark's window()"]:
            assert both_agree(spark, [root / "native", root / "trimtab"]), "the two differ"
            shape = f"60 s by 1 s, Zipf 1.0, {sizes.window_keys:,} keys"
            results.add(
                f"windows of {shape}, batches of {rows:,} rows in 10 s",
                {name: of_rows[rows] for name, of_rows in took.items()},
                "Trimtab",
            )
    kept_up = {
        name: max((rows for rows, s in of_rows.items() if s <= interval), default=0) / interval
        for name, of_rows in took.items()
    }
    for name, of_rows in took.items():
        shown = ", ".join(f"{rows:,}: {s:.1f} s" for rows, s in of_rows.items())
        results.console.print(f"  {name}, rows per batch: seconds: {shown}")
    results.add(
        f"rows per second sustained, windows of 60 s by 1 s, {sizes.window_keys:,} keys",
        kept_up,
        "Spark's window()",
        "aim: at least 10; the highest of the rates tried at which 10 s of rows take 10 s at most",
        unit="rows/s",
    )


def tumbling(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """Half a minute per batch: a window closes in every other batch."""
    batches, settled = 10, 4
    for rows in sizes.tumbling_rows:
        root = scratch / str(rows)
        keys = zipf_batches([rows] * batches, sizes.window_keys, 1.0)
        write_batches(root / "words", keys, 30)
        for turn in range(2):  # the first turn warms up
            roots = [root / f"native {turn}", root / f"trimtab {turn}"]
            took = {
                "Spark's window()": native(spark, root / "words", roots[0], None),
                "Trimtab": ours(spark, root / "words", roots[1], None),
            }
            assert both_agree(spark, roots), "the two queries differ"
        results.add(
            f"rows per second, windows of 60 s, Zipf 1.0, {sizes.window_keys:,} keys, {rows:,} "
            "rows per batch",
            {name: rows / float(np.mean(values[settled:])) for name, values in took.items()},
            "Spark's window()",
            "aim: at least 1",
            unit="rows/s",
        )
        for name, values in took.items():
            results.console.print(f"  {name}: batches of " + " ".join(f"{v:.1f}" for v in values))
        shutil.rmtree(root)


def by_key(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"word": [rows["word"].iloc[0]], "last": [rows["row"].max()]})


BY_KEY = "word long, last long"


def applied(rows: DataFrame, number: Any) -> None:
    written(rows.groupBy("word").applyInPandas(by_key, BY_KEY), number)


def our_apply(spark: SparkSession, source: Path, root: Path, _: Any) -> list[float]:
    stream = tt.stream(read(spark, source), "word", LANES, checkpoint=str(root))
    sink: dict[str, Any] = {"function": written}
    query = stream.apply(by_key, BY_KEY).start(trigger={"availableNow": True}, **sink)
    return batch_seconds(query)


def overhead(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """Nothing is gained without skew: what is left is the price."""
    rng = np.random.default_rng(SEED)
    for what, keys, work, ours in (
        ("rows on lanes and nothing else", 100_000, written, our_batches),
        ("a function of each of 5,000 keys", 5_000, applied, our_apply),
    ):
        source = scratch / what
        write_batches(source, (rng.integers(0, keys, sizes.batch_rows) for _ in range(8)), 10)
        took: dict[str, list[float]] = {"Spark's foreachBatch": [], "Trimtab": []}
        # In turns: a machine that grows warmer or slower does so for both.
        for turn in range(2):
            root = scratch / f"{what} {turn}"
            took["Spark's foreachBatch"] += plain_batches(spark, source, root / "a", work)[2:]
            took["Trimtab"] += ours(spark, source, root / "b", work)[2:]
        results.add(
            f"no skew, {sizes.batch_rows:,} rows per batch, {what}",
            {name: float(np.median(values)) for name, values in took.items()},
            "Spark's foreachBatch",
            "aim: at most 1.10",
        )


def empty(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """A file without rows is a batch without rows."""
    source = scratch / "words"
    write_batches(source, (np.zeros(0, np.int64) for _ in range(12)), 10)

    def all_seconds(start: Callable[..., Any], root: Path) -> float:
        begin = time.perf_counter()
        start(spark, source, root, written)
        return (time.perf_counter() - begin) / 12

    took: dict[str, list[float]] = {"Spark's foreachBatch": [], "Trimtab": []}
    for turn in range(3):
        for name, start in (("Spark's foreachBatch", plain_batches), ("Trimtab", our_batches)):
            took[name].append(all_seconds(start, scratch / f"{name} {turn}"))
    results.add(
        "an empty batch",
        {name: float(np.median(values[1:])) for name, values in took.items()},
        "Spark's foreachBatch",
        "aim: at most 0.3 s more",
    )


def peers_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    peers(spark, sizes.peer_rows, results, scratch)


def large_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    peers(spark, sizes.large_rows, results, scratch)


def slides_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    sliding_peers(spark, sizes.peer_rows[0], results, scratch)


def lengths_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    lengths(spark, sizes.pane_rows, results, scratch)


def reduce_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    reduce_stage(spark, sizes.batch_rows, results, scratch)


def forward_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    forward(spark, sizes.batch_rows, results, scratch)


def surprise_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    surprise(spark, sizes.wait_rows, results, scratch)


def drift_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    drift(spark, sizes.wait_rows, sizes.drift_batches, results, scratch)


def rate_part(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    rate(spark, sizes.steps, results, scratch)


Part = Callable[[SparkSession, Sizes, Results, Path], None]
# Parts that wait overlap 16 tasks; parts that compute get a task per core.
PARTS: dict[str, tuple[Part, bool]] = {
    "sliding": (sliding, False),
    "tumbling": (tumbling, False),
    "peers": (peers_part, False),
    "large": (large_part, False),
    "slides": (slides_part, False),
    "lengths": (lengths_part, False),
    "reduce": (reduce_part, False),
    "forward": (forward_part, False),
    "overhead": (overhead, False),
    "empty": (empty, False),
    "surprise": (surprise_part, True),
    "drift": (drift_part, True),
    "rate": (rate_part, True),
}


def main() -> None:
    asked = options(__doc__, PARTS)
    results = Results("spark_streaming", SEED)
    results.console.print(heading("Streams against Spark's own", SEED))
    for waits, slots in ((False, os.cpu_count() or 2), (True, LANES)):
        parts = [name for name in asked.parts if PARTS[name][1] == waits]
        if not parts:
            continue
        # Both sides get as many shuffle partitions as there are slots: more would only cost.
        spark = session(slots, spark__sql__shuffle__partitions=str(slots))
        for name in parts:
            with tempfile.TemporaryDirectory() as scratch:
                PARTS[name][0](spark, FULL if asked.full else QUICK, results, Path(scratch))
        spark.stop()
    results.keep(asked.out)


if __name__ == "__main__":
    main()
