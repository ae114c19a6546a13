"""Batch operators against plain Spark, each a ratio of wall times in one run.

    python benchmarks/spark_batch.py                 # small sizes, some minutes
    python benchmarks/spark_batch.py --full          # 10,000,000 rows; 40,000 rows that wait
    python benchmarks/spark_batch.py --only shuffle,profile,wait,merge,join,uniform

A function that waits stands for one that calls a service: it sleeps one millisecond per row, so
that 16 tasks overlap on however many cores. Its lower bound is `max(rows / 16, rows of the heaviest
key)` milliseconds; to it comes the time of an empty job, which is the same plain job without the
waiting. All inputs are cached beforehand, alternatives take turns; what warms up does not count.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import trimtab.spark as tt
from machine import heading
from spark_runs import Results, options, session
from trimtab import planner
from trimtab.spark.columns import key_columns
from trimtab.spark.counting.counted import count_frame
from trimtab.workloads import zipf_ids

SEED = 7
LANES = 16
KEYS = 5000
ZIPF = (0.8, 1.0, 1.2, 1.5)
WAITS = "1 ms per row"
SALTS = 8
"""Every key is salted alike, as by hand: more would make still smaller groups."""
SCHEMA = "key bigint, n bigint"

Calls = dict[str, Callable[[], object]]


@dataclass(frozen=True)
class Sizes:
    rows: int
    waiting_rows: int
    runs: int


QUICK = Sizes(rows=1_000_000, waiting_rows=8_000, runs=1)
FULL = Sizes(rows=10_000_000, waiting_rows=40_000, runs=3)


def in_turns(calls: Calls, runs: int, warm_up: bool = True) -> dict[str, float]:
    """Return the median wall time of each call; a first round, if any, does not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(-1 if warm_up else 0, runs):
        for name in list(calls) if turn % 2 else list(calls)[::-1]:
            start = time.perf_counter()
            calls[name]()
            if turn >= 0:
                times[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in times.items()}


def used_up(df: DataFrame) -> None:
    """Run a frame to its end without bringing its rows anywhere."""
    df.write.format("noop").mode("overwrite").save()


@contextmanager
def cached(df: DataFrame) -> Iterator[DataFrame]:
    kept = df.cache()
    kept.count()
    try:
        yield kept
    finally:
        kept.unpersist(blocking=True)


def text_keys(spark: SparkSession, rows: int, hot_share: float) -> DataFrame:
    """Return rows with string keys: 64 heavy ones with `hot_share`, and 100,000 light ones."""
    hot = F.concat(F.lit("key-"), (F.rand(2) * 64).cast("int"))
    cold = F.concat(F.lit("key-"), (F.rand(3) * 100_000 + 64).cast("int"))
    key = F.when(F.rand(1) < hot_share, hot).otherwise(cold).alias("key")
    return spark.range(rows).select(key, "id", F.rand(5).alias("x"))


def shuffle(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    with cached(text_keys(spark, sizes.rows, 0.5)) as base:
        known = count_frame(base, key_columns(base, "key"), hosts=64 * LANES).histogram
        plan = planner("kip", lanes=LANES, heavy_per_lane=4).plan(known)
        times = in_turns(
            {
                "Spark's repartition": lambda: used_up(base.repartition(LANES, "key")),
                f"by a plan of {len(plan)} keys": lambda: used_up(
                    tt.repartition(base, LANES, "key", plan)
                ),
                "counting and planning as well": lambda: used_up(
                    tt.repartition(base, LANES, "key")
                ),
                "every row looked at": lambda: used_up(
                    tt.repartition(base, LANES, "key", count="all")
                ),
                "planned from the first rows": lambda: used_up(
                    tt.repartition(base, LANES, "key", count="first")
                ),
            },
            sizes.runs,
        )
    results.add(
        f"repartition of {sizes.rows:,} rows, string keys",
        times,
        "Spark's repartition",
        "aim: by a plan, and with counting and planning, at most 1.15",
    )


def profile(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    with cached(text_keys(spark, sizes.rows, 0.5)) as base:
        times = in_turns(
            {
                "count of the rows": lambda: base.count(),
                "scan and count of the keys": lambda: base.agg(F.count("key")).collect(),
                "count by key": lambda: used_up(base.groupBy("key").count()),
                "profile": lambda: tt.profile(base, "key", lanes=LANES),
                "profile, sample=0.1": lambda: tt.profile(base, "key", lanes=LANES, sample=0.1),
            },
            sizes.runs,
        )
    results.add(
        f"profile of {sizes.rows:,} rows, string keys",
        times,
        "scan and count of the keys",
        "aim: profile at most 1.5",
    )


def waited(group: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.001 * len(group))
    return pd.DataFrame({"key": [group["key"].iloc[0]], "n": [len(group)]})


def at_once(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"key": [group["key"].iloc[0]], "n": [len(group)]})


def added(parts: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"key": [parts["key"].iloc[0]], "n": [parts["n"].sum()]})


def plain(frame: DataFrame, func: Any, partitions: int, coalesce: bool) -> None:
    conf = frame.sparkSession.conf
    conf.set("spark.sql.shuffle.partitions", str(partitions))
    conf.set("spark.sql.adaptive.coalescePartitions.enabled", str(coalesce).lower())
    used_up(frame.groupBy("key").applyInPandas(func, SCHEMA))
    conf.set("spark.sql.shuffle.partitions", str(LANES))
    conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")


def salted(frame: DataFrame) -> None:
    conf = frame.sparkSession.conf
    conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    salt = frame.withColumn("salt", (F.rand(1) * SALTS).cast("int"))
    parts = salt.groupBy("key", "salt").applyInPandas(waited, SCHEMA)
    used_up(parts.groupBy("key").applyInPandas(added, SCHEMA))
    conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")


def trimmed(frame: DataFrame, merge: Any = None) -> None:
    used_up(tt.group_by(frame, "key", lanes=LANES).applyInPandas(waited, SCHEMA, merge=merge))


def waiting_frame(spark: SparkSession, ids: Any) -> DataFrame:
    return spark.createDataFrame(pd.DataFrame({"key": ids})).repartition(LANES)


def wait(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    for z in ZIPF:
        ids = zipf_ids(sizes.waiting_rows, KEYS, z, SEED)
        with cached(waiting_frame(spark, ids)) as frame:
            if z == ZIPF[0]:
                plain(frame, at_once, LANES, False)
                trimmed(frame)
                trimmed(frame, added)
            measured = in_turns(
                {
                    "empty job": partial(plain, frame, at_once, LANES, False),
                    "plain, AQE as it comes": partial(plain, frame, waited, 200, True),
                    "plain, 16 partitions": partial(plain, frame, waited, 16, False),
                    "plain, 48 partitions": partial(plain, frame, waited, 48, False),
                    "plain, 200 partitions": partial(plain, frame, waited, 200, False),
                    "Trimtab, whole keys": partial(trimmed, frame),
                    "salted by hand, with merge": partial(salted, frame),
                    "Trimtab, split, with merge": partial(trimmed, frame, added),
                },
                1,
                warm_up=False,
            )
        empty = measured.pop("empty job")
        whole = 0.001 * max(sizes.waiting_rows / LANES, int(np.bincount(ids).max()))
        split = 0.001 * sizes.waiting_rows / LANES
        bounds = {"bound, whole keys": whole + empty, "bound, split keys": split + empty}
        results.add(
            f"{WAITS}, {sizes.waiting_rows:,} rows, {KEYS:,} keys, Zipf {z}",
            bounds | measured,
            "bound, whole keys",
            f"the empty job is {empty:.2f} s of each bound; aim: Trimtab at most 1.15",
        )


def uniform(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    ids = np.random.default_rng(SEED).integers(0, KEYS, sizes.waiting_rows)
    with cached(waiting_frame(spark, ids)) as frame:
        times = in_turns(
            {
                "plain, 16 partitions": partial(plain, frame, waited, 16, False),
                "Trimtab": partial(trimmed, frame),
            },
            sizes.runs,
        )
    results.add(
        f"uniform keys: 1 ms per row, {sizes.waiting_rows:,} rows",
        times,
        "plain, 16 partitions",
        "aim: at most 1.10",
    )


def uniform_cpu(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    with cached(text_keys(spark, sizes.rows, 0.0)) as base:
        times = in_turns(
            {
                "Spark's repartition": lambda: used_up(base.repartition(LANES, "key")),
                "Trimtab's": lambda: used_up(tt.repartition(base, LANES, "key")),
                "Spark's sum": lambda: used_up(base.groupBy("key").agg(F.sum("x"))),
                "Trimtab's sum": lambda: used_up(
                    tt.group_by(base, "key", lanes=LANES).agg(F.sum("x"))
                ),
            },
            sizes.runs,
        )
    shuffles = {name: times[name] for name in ("Spark's repartition", "Trimtab's")}
    sums = {name: times[name] for name in ("Spark's sum", "Trimtab's sum")}
    title = f"uniform keys: {sizes.rows:,} rows"
    results.add(f"{title}, repartition", shuffles, "Spark's repartition", "aim: at most 1.10")
    results.add(f"{title}, sum", sums, "Spark's sum", "aim: at most 1.10")


def merge(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    rows = sizes.rows // 5
    light = (F.rand(2) * 20_000).cast("int")
    key = F.when(F.rand(1) < 0.3, F.lit(0)).otherwise(light).alias("key")

    def collected(grouped: Any) -> None:
        used_up(grouped.agg(F.collect_list("x")))

    with cached(spark.range(rows).select(key, F.col("id").alias("x"))) as frame:
        times = in_turns(
            {
                "plain, AQE on": lambda: collected(frame.groupBy("key")),
                "Trimtab, as it decides": lambda: collected(tt.group_by(frame, "key")),
                "Trimtab, split": lambda: collected(
                    tt.group_by(frame, "key", lanes=LANES, partitioner="trim")
                ),
            },
            sizes.runs,
        )
    results.add(f"collect_list of {rows:,} rows, one key with 30 %", times, "plain, AQE on")


def sides(spark: SparkSession, rows: int, keys: int) -> tuple[DataFrame, DataFrame]:
    """Return a left side with one key that has 30 % of the rows, and two matches for every key."""
    light = (F.rand(2) * keys).cast("int")
    key = F.when(F.rand(1) < 0.3, F.lit(0)).otherwise(light).alias("key")
    left = spark.range(0, rows, numPartitions=LANES).select(key, F.col("id").alias("x"))
    right = spark.range(0, 2 * keys, numPartitions=LANES)
    return left, right.select((F.col("id") % keys).cast("int").alias("key"), F.rand(3).alias("y"))


def join_cpu(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    rows = sizes.rows // 5
    left, right = sides(spark, rows, 200_000)
    with cached(left) as facts_side, cached(right) as names:
        times = in_turns(
            {
                "plain, AQE on": lambda: used_up(facts_side.join(names, "key")),
                "Trimtab, as it decides": lambda: used_up(tt.join(facts_side, names, "key")),
                "Trimtab, laid out": lambda: used_up(
                    tt.join(facts_side, names, "key", lanes=LANES)
                ),
            },
            sizes.runs,
        )
    results.add(f"join of {rows:,} rows, one key with 30 %, no wait", times, "plain, AQE on")


def slowly(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        time.sleep(0.0005 * len(frame))
        yield frame


def join_wait(spark: SparkSession, sizes: Sizes, results: Results) -> None:
    """Half a millisecond of waiting per joined pair: what a join feeds is rarely free."""
    rows = sizes.waiting_rows
    left, right = sides(spark, rows, KEYS)

    def plainly(coalesce: bool) -> None:
        conf = spark.conf
        conf.set("spark.sql.adaptive.coalescePartitions.enabled", str(coalesce).lower())
        joined = facts_side.join(names, "key")
        used_up(joined.mapInPandas(slowly, joined.schema))
        conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")

    def ours() -> None:
        joined = tt.join(facts_side, names, "key", lanes=LANES)
        used_up(joined.mapInPandas(slowly, joined.schema))

    with cached(left) as facts_side, cached(right) as names:
        times = in_turns(
            {
                "plain, AQE as it comes": lambda: plainly(True),
                "plain, 16 partitions": lambda: plainly(False),
                "Trimtab": ours,
            },
            sizes.runs,
        )
    times = {"bound, split keys": 2 * rows * 0.0005 / LANES} | times
    results.add(
        f"join of {rows:,} rows, one key with 30 %, 0.5 ms per pair", times, "plain, 16 partitions"
    )


Part = Callable[[SparkSession, Sizes, Results], None]
# Parts that wait overlap 16 tasks; parts that compute get a task per core.
PARTS: dict[str, tuple[list[Part], list[Part]]] = {
    "shuffle": ([shuffle], []),
    "profile": ([profile], []),
    "wait": ([], [wait]),
    "merge": ([merge], []),
    "join": ([join_cpu], [join_wait]),
    "uniform": ([uniform_cpu], [uniform]),
}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the waiting function: alternatives against the bound, a group of bars per exponent."""
    from matplotlib.figure import Figure

    waits = [row for row in rows if row["part"].startswith(WAITS)]
    parts = list(dict.fromkeys(row["part"] for row in waits))
    names = list(dict.fromkeys(row["what"] for row in waits))
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    axes = figure.subplots()
    for i, name in enumerate(names):
        heights = [
            next(r["value"] for r in waits if (r["part"], r["what"]) == (p, name)) for p in parts
        ]
        at = np.arange(len(parts)) + (i - (len(names) - 1) / 2) * 0.09
        # Trimtab stands out, bounds step back, and the order tells the rest apart in print.
        shade = "#c44e52" if "Trimtab" in name else "#cccccc" if "bound" in name else "#4c72b0"
        hatch = {"plain, 16 partitions": "//", "plain, 48 partitions": "xx"}.get(name, "")
        hatch = {"plain, 200 partitions": "..", "salted by hand, with merge": "\\\\"}.get(
            name, hatch
        )
        hatch = "++" if "split" in name else hatch
        axes.bar(at, heights, 0.085, label=name, color=shade, hatch=hatch, edgecolor="white")
    axes.set_xticks(range(len(parts)), [part.split(", ")[-1] for part in parts])
    axes.set_ylabel("seconds")
    axes.set_title(f"A function that waits: {waits[0]['part'].rsplit(', ', 1)[0]}, 16 task slots")
    axes.legend(fontsize=8, ncols=3)
    figure.savefig(path, dpi=110)


def main() -> None:
    asked = options(__doc__, PARTS)
    sizes = FULL if asked.full else QUICK
    results = Results("spark_batch", SEED)
    results.console.print(heading("Batch operators against plain Spark", SEED))
    for kind, slots in ((0, os.cpu_count() or 2), (1, LANES)):
        parts = [part for name in asked.parts for part in PARTS[name][kind]]
        if parts:
            spark = session(
                slots,
                spark__sql__shuffle__partitions=str(LANES),
                # Both sides of the joins stand for large ones.
                spark__sql__autoBroadcastJoinThreshold="-1",
            )
            for part in parts:
                part(spark, sizes, results)
            spark.stop()
    if any(row["part"].startswith(WAITS) for row in results.rows):
        results.pictures["wait"] = partial(draw, results.rows)
    results.keep(asked.out)


if __name__ == "__main__":
    main()
