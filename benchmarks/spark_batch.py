"""Batch operators against plain Spark, each a ratio of wall times in one run.

    python benchmarks/spark_batch.py [--rows 10000000] [--only shuffle,wait,merge,join,uniform]

`wait` stands for a function that calls a service: it sleeps one millisecond per row, so that 16
tasks can overlap on two cores. Its lower bound is `max(rows / 16, rows of the heaviest key)`
milliseconds plus the time of a job that does nothing. All inputs are cached beforehand;
alternatives take turns.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

import trimtab.spark as tt
from machine import facts, heading
from trimtab import planner
from trimtab.spark.columns import key_columns
from trimtab.spark.statistics import collect_statistics
from trimtab.workloads import zipf_ids

SEED = 7
SLOTS = 16
ROWS: list[dict[str, Any]] = []
console = Console(width=130)


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master(f"local[{SLOTS}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "8g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(SLOTS))
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    return made


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turns(calls: dict[str, Callable[[], object]], runs: int = 3) -> dict[str, float]:
    """Give the median wall time of each call; they take turns, the first round does not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(runs + 1):
        names = list(calls) if turn % 2 else list(calls)[::-1]
        for name in names:
            taken = seconds(calls[name])
            if turn:
                times[name].append(taken)
    return {name: float(np.median(values)) for name, values in times.items()}


def show(title: str, times: dict[str, float], base: str) -> None:
    table = Table(title=title)
    for column in ("what", "seconds", f"ratio to {base}"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, value in times.items():
        table.add_row(name, f"{value:.2f}", f"{value / times[base]:.2f}")
        ROWS.append({"part": title, "what": name, "seconds": value, "ratio": value / times[base]})
    console.print(table)


def used_up(df: DataFrame) -> None:
    """Run a frame to its end without bringing its rows anywhere."""
    df.write.format("noop").mode("overwrite").save()


def shuffle(spark: SparkSession, rows: int) -> None:
    hot = F.concat(F.lit("key-"), (F.rand(2) * 64).cast("int"))
    cold = F.concat(F.lit("key-"), (F.rand(3) * 100_000 + 64).cast("int"))
    base = (
        spark.range(rows)
        .select(
            F.when(F.rand(1) < 0.5, hot).otherwise(cold).alias("key"), "id", F.rand(5).alias("x")
        )
        .cache()
    )
    base.count()
    key = key_columns(base, "key")
    known = collect_statistics(base, key, hosts=64 * SLOTS).histogram
    plan = planner("kip", lanes=SLOTS, heavy_per_lane=4).plan(known)
    console.print(f"the plan places {len(plan)} keys one by one")
    times = in_turns(
        {
            "Spark repartition(16, key)": lambda: used_up(base.repartition(SLOTS, "key")),
            "by a plan": lambda: used_up(tt.repartition(base, SLOTS, "key", plan)),
            "counting and planning too": lambda: used_up(tt.repartition(base, SLOTS, "key")),
        }
    )
    show(f"repartition of {rows:,} rows", times, "Spark repartition(16, key)")
    times = in_turns(
        {
            "scan and count": lambda: base.agg(F.count("key")).collect(),
            "profile": lambda: tt.profile(base, "key", lanes=SLOTS),
        }
    )
    show(f"profile of {rows:,} rows", times, "scan and count")
    base.unpersist()


def waited(group: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.001 * len(group))
    return pd.DataFrame({"key": [group["key"].iloc[0]], "n": [len(group)]})


def added(parts: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"key": [parts["key"].iloc[0]], "n": [parts["n"].sum()]})


SCHEMA = "key bigint, n bigint"


def wait(spark: SparkSession, rows: int) -> None:
    for z in (0.8, 1.0, 1.2, 1.5):
        ids = zipf_ids(rows, 5000, z, SEED)
        frame = spark.createDataFrame(pd.DataFrame({"key": ids})).repartition(SLOTS).cache()
        frame.count()
        heaviest = int(np.bincount(ids).max())
        empty = seconds(
            lambda f=frame: used_up(f.limit(0).groupBy("key").applyInPandas(added, SCHEMA))
        )
        bound = 0.001 * max(rows / SLOTS, heaviest)

        def plain(partitions: int, coalesce: bool, f: DataFrame = frame) -> None:
            spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
            flag = str(coalesce).lower()
            spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", flag)
            used_up(f.groupBy("key").applyInPandas(waited, SCHEMA))
            spark.conf.set("spark.sql.shuffle.partitions", str(SLOTS))
            spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")

        def salted(f: DataFrame = frame) -> None:
            salt = f.withColumn("salt", (F.rand(1) * SLOTS).cast("int"))
            parts = salt.groupBy("key", "salt").applyInPandas(waited, SCHEMA)
            used_up(parts.groupBy("key").applyInPandas(added, SCHEMA))

        times = {"lower bound, whole keys": bound + empty}
        times |= in_turns(
            {
                "plain, AQE as it comes": lambda: plain(SLOTS, True),
                "plain, 16 partitions": lambda: plain(16, False),
                "plain, 48 partitions": lambda: plain(48, False),
                "plain, 200 partitions": lambda: plain(200, False),
                "trim, whole keys": lambda f=frame: used_up(
                    tt.group_by(f, "key", lanes=SLOTS).applyInPandas(waited, SCHEMA)
                ),
                "salted by hand, with merge": salted,
                "trim, split, with merge": lambda f=frame: used_up(
                    tt.group_by(f, "key", lanes=SLOTS).applyInPandas(waited, SCHEMA, merge=added)
                ),
            },
            runs=1,
        )
        times["lower bound, split keys"] = 0.001 * rows / SLOTS + empty
        show(f"1 ms per row, {rows:,} rows, 5,000 keys, Zipf {z}", times, "lower bound, whole keys")
        frame.unpersist()


def merge(spark: SparkSession, rows: int) -> None:
    frame = (
        spark.range(rows // 5)
        .select(
            F.when(F.rand(1) < 0.4, F.lit(0))
            .otherwise((F.rand(2) * 20_000).cast("int"))
            .alias("key"),
            F.col("id").alias("x"),
        )
        .cache()
    )
    frame.count()
    times = in_turns(
        {
            "plain": lambda: used_up(frame.groupBy("key").agg(F.collect_list("x"))),
            "trim": lambda: used_up(
                tt.group_by(frame, "key", lanes=SLOTS).agg(F.collect_list("x"))
            ),
            "kip, whole keys": lambda: used_up(
                tt.group_by(frame, "key", lanes=SLOTS, partitioner="kip").agg(F.collect_list("x"))
            ),
        }
    )
    show(f"collect_list of {rows // 5:,} rows, one key with 40 %", times, "plain")
    frame.unpersist()


def join(spark: SparkSession, rows: int) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    left = (
        spark.range(rows // 5)
        .select(
            F.when(F.rand(1) < 0.3, F.lit(0))
            .otherwise((F.rand(2) * 200_000).cast("int"))
            .alias("key"),
            F.col("id").alias("x"),
        )
        .cache()
    )
    right = spark.range(400_000).select(
        (F.col("id") % 200_000).cast("int").alias("key"), F.rand(3).alias("y")
    )
    right = right.unionAll(
        spark.range(18).select(F.lit(0).alias("key"), F.rand(4).alias("y"))
    ).cache()
    left.count(), right.count()
    times = in_turns(
        {
            "plain, AQE on": lambda: used_up(left.join(right, "key")),
            "trimtab": lambda: used_up(tt.join(left, right, "key", lanes=SLOTS)),
        }
    )
    show(
        f"join of {rows // 5:,} rows, one key with 30 % of them, 20 matches each",
        times,
        "plain, AQE on",
    )
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    left.unpersist(), right.unpersist()


def uniform(spark: SparkSession, rows: int) -> None:
    ids = np.random.default_rng(SEED).integers(0, 5000, 40_000)
    frame = spark.createDataFrame(pd.DataFrame({"key": ids})).repartition(SLOTS).cache()
    frame.count()
    times = in_turns(
        {
            "plain, 16 partitions": lambda: used_up(
                frame.repartition(SLOTS, "key").groupBy("key").applyInPandas(waited, SCHEMA)
            ),
            "trim": lambda: used_up(
                tt.group_by(frame, "key", lanes=SLOTS).applyInPandas(waited, SCHEMA)
            ),
        }
    )
    show("uniform keys, 1 ms per row, 40,000 rows", times, "plain, 16 partitions")
    frame.unpersist()


PARTS = {"shuffle": shuffle, "wait": wait, "merge": merge, "join": join, "uniform": uniform}


def draw(path: Path) -> None:
    """Draw the waiting function: alternatives against the bound, a group of bars per exponent."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    waits = [row for row in ROWS if row["part"].startswith("1 ms per row")]
    if not waits:
        return
    parts = list(dict.fromkeys(row["part"] for row in waits))
    names = list(dict.fromkeys(row["what"] for row in waits))
    figure, axes = plt.subplots(figsize=(11, 4.5), layout="constrained")
    hatches = ["", "//", "\\\\", "xx", "..", "++", "oo", "--", "**"]
    for i, name in enumerate(names):
        heights = [
            next(r["seconds"] for r in waits if (r["part"], r["what"]) == (p, name)) for p in parts
        ]
        at = np.arange(len(parts)) + (i - len(names) / 2) * 0.09
        axes.bar(at, heights, 0.085, label=name, hatch=hatches[i % len(hatches)], edgecolor="black")
    axes.set_xticks(range(len(parts)), [part.split(", ")[-1] for part in parts])
    axes.set_ylabel("seconds")
    axes.set_title("A function that waits 1 ms per row, 40,000 rows, 16 task slots")
    axes.legend(fontsize=8, ncols=3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--waiting-rows", type=int, default=40_000)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    console.print(heading("Batch operators against plain Spark", SEED))
    spark = session()
    for name in options.only.split(","):
        PARTS[name](spark, options.waiting_rows if name == "wait" else options.rows)
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "spark_batch.csv").open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in facts(SEED).items())
        writer = csv.DictWriter(file, fieldnames=["part", "what", "seconds", "ratio"])
        writer.writeheader()
        writer.writerows(ROWS)
    draw(options.out / "spark_batch.png")
    console.print(f"rows and picture kept in {options.out}/")
    spark.stop()


if __name__ == "__main__":
    main()
