"""What the tests of machines run as a process of its own: a cluster and what befalls it.

Usage: machines_job.py SCRATCH_DIRECTORY; results go to results.json there.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

import trimtab
import trimtab.spark as tt
from tests.spark.cluster import HOSTS, Cluster, running_cluster
from tests.spark.slowing import slowed

CORES, ROWS, KEYS = 2, 3_000, 97
SLOTS = CORES * len(HOSTS)
ADDED = "127.0.0.5"
PACKAGE = Path(trimtab.__file__).parent

BARE = """
import pathlib, sys
sys.path[:] = [path for path in sys.path if not pathlib.Path(path, "trimtab").is_dir()]
"""
"""Makes a Python process one on a machine where Trimtab was never installed."""


GROWING = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "1",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": str(len(HOSTS)),
    # Spark adds none by itself within the test: who comes has been asked for.
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1h",
}


def session(
    cluster: Cluster, scratch: Path, paths: list[str], more: Mapping[str, str] | None = None
) -> SparkSession:
    return (
        SparkSession.builder.master(cluster.url)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", str(CORES))
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(paths))
        .config("spark.sql.shuffle.partitions", str(SLOTS))
        .config("spark.local.dir", str(scratch / "driver"))
        .config("spark.shuffle.service.enabled", "false")
        .config("spark.shuffle.io.maxRetries", "1")
        .config("spark.shuffle.io.retryWait", "1s")
        .config(map=dict(more or {}))
        .getOrCreate()
    )


def all_executors(spark: SparkSession, slots: int) -> None:
    deadline = time.monotonic() + 60
    while spark.sparkContext.defaultParallelism < slots:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {spark.sparkContext.defaultParallelism} slots came")
        time.sleep(0.1)


def a_millisecond_each(rows: pd.DataFrame) -> pd.DataFrame:
    for _ in range(len(rows)):
        time.sleep(0.001)
    return pd.DataFrame({"key": rows["key"].iloc[:1], "rows": [len(rows)]})


def batches(
    spark: SparkSession,
    scratch: Path,
    count: int,
    at: Callable[[int], None],
    interval: str = "0 seconds",
    **options: Any,
) -> dict[str, Any]:
    """Run at least so many batches of a stream, and two after the last call of `at`.

    `at` is called as each batch begins, unless it is still busy with an earlier one.
    """
    place = str(scratch / "ck")
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    frame = rows.option("numPartitions", SLOTS).load().selectExpr(f"value % {KEYS} AS key", "value")
    counted: dict[int, int] = {}

    def note(results: DataFrame, batch: Any) -> None:
        counted[batch.id] = sum(row["rows"] for row in results.collect())

    applied = tt.stream(frame, "key", checkpoint=place, **options).apply(
        a_millisecond_each, "key long, rows long"
    )
    query = applied.start(function=note, trigger={"processingTime": interval})
    told = -1
    deadline = time.monotonic() + 240
    while len(tt.events(place)) < count and query.isActive and time.monotonic() < deadline:
        if len(tt.events(place)) > told:
            told = len(tt.events(place))
            at(told)
            if len(tt.events(place)) > told:
                count = max(count, len(tt.events(place)) + 2)
        time.sleep(0.05)
    query.stop()
    failure = query.exception()
    if failure is not None:
        raise RuntimeError(str(failure))
    events = tt.events(place)
    return {
        "lanes": [event["map_tasks"] for event in events],
        "scaling": [event["scaling"] for event in events],
        "slow": [
            [one["executor"] for one in event["stragglers"] if one["cause"] == "slow machine"]
            for event in events
        ],
        "executors": [[one["executor"] for one in event["executors"]] for event in events],
        "rows": [counted[number] for number in range(len(events))],
    }


def a_slow_machine(cluster: Cluster, scratch: Path) -> dict[str, Any]:
    spark = session(cluster, scratch, sys.path)
    all_executors(spark, SLOTS)
    with slowed(cluster.executor_at(HOSTS[2]), 0.3):
        found = batches(spark, scratch / "slow", 5, lambda number: None)
    return found


def a_death_and_a_birth(cluster: Cluster, scratch: Path) -> dict[str, Any]:
    """Kill an executor, with its worker, in the second batch, and add one before the fourth."""
    spark = session(cluster, scratch, sys.path)

    steps = ["kill", "add"]

    def at(number: int) -> None:
        if number >= 1 and steps[:1] == ["kill"]:
            steps.pop(0)
            victim = cluster.executor_at(HOSTS[1])
            worker = victim.parent()
            if worker is not None:
                worker.kill()
            victim.kill()
        if number >= 3 and steps:
            steps.pop(0)
            cluster.add_worker(ADDED)
            all_executors(spark, SLOTS)

    found = batches(spark, scratch / "killed", 7, at)
    spark.stop()
    return found


def more_executors(cluster: Cluster, scratch: Path) -> dict[str, Any]:
    """Give a stream one executor of two slots, and work for twice as many."""
    spark = session(cluster, scratch, sys.path, GROWING)
    all_executors(spark, CORES)
    tasks = {"map_tasks": CORES, "most_map_tasks": SLOTS, "batches": 1}
    found = batches(
        *(spark, scratch / "growing", 6, lambda number: None),
        interval="1 second",
        autoscale=tasks,
    )
    spark.stop()
    return found


def without_trimtab(cluster: Cluster, scratch: Path) -> dict[str, Any]:
    """Run a function of groups where workers lack Trimtab, then send it to them."""
    bare = scratch / "bare"
    bare.mkdir()
    (bare / "sitecustomize.py").write_text(BARE)
    spark = session(cluster, scratch, [str(bare)])
    frame = spark.range(0, 60, 1, 2).selectExpr("id % 5 AS key")

    def sizes(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"key": rows["key"].iloc[:1], "rows": [len(rows)]})

    grouped = tt.group_by(frame, "key", lanes=2, partitioner="hash")
    try:
        grouped.applyInPandas(sizes, "key long, rows long").collect()
        said = ""
    except PythonException as error:
        said = str(error)
    archive = shutil.make_archive(
        str(scratch / "trimtab"), "zip", root_dir=PACKAGE.parent, base_dir="trimtab"
    )
    spark.sparkContext.addPyFile(archive)
    sent = grouped.applyInPandas(sizes, "key long, rows long").collect()
    spark.stop()
    return {"said": said, "sent": sorted(tuple(row) for row in sent)}


def main(scratch: Path) -> None:
    # Workers are to be the interpreter that runs this, not whatever `python3` is.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with running_cluster(scratch, CORES) as cluster:
        found = {"shipping": without_trimtab(cluster, scratch)}
        found["growing"] = more_executors(cluster, scratch)
        found["slow"] = a_slow_machine(cluster, scratch)
        found["killed"] = a_death_and_a_birth(cluster, scratch)
    (scratch / "results.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
