"""What the cluster tests run as a driver of its own: routed jobs whose results go to a JSON file.

Usage: cluster_job.py MASTER_URL SCRATCH_DIRECTORY
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import trimtab.spark as tt
from trimtab import Plan, hash_keys
from trimtab.spark.row_hash import row_hash

LANES = 5
ROWS = 6000


def session(url: str, scratch: Path) -> SparkSession:
    return (
        SparkSession.builder.master(url)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.local.dir", str(scratch / "driver"))
        # The lost executor's shuffle files are gone: its map tasks must run again.
        .config("spark.shuffle.service.enabled", "false")
        # Nobody answers for the dead executor: do not ask it three times, five seconds apart.
        .config("spark.shuffle.io.maxRetries", "1")
        .config("spark.shuffle.io.retryWait", "1s")
        .getOrCreate()
    )


def clicks(spark: SparkSession) -> DataFrame:
    key = F.when(F.col("id") % 2 == 0, F.lit("hot")).otherwise((F.col("id") % 301).cast("string"))
    # Behind a shuffle, rows come in whatever order their blocks arrive.
    return (
        spark.range(0, ROWS, numPartitions=6).select("id", key.alias("user")).repartition(4, "id")
    )


def where_rows_land(spark: SparkSession) -> dict[str, Any]:
    frame = clicks(spark)
    hot = int(hash_keys(["hot"])[0])
    plan = Plan(LANES, {hot: [(1, 0.3), (3, 0.3), (4, 0.4)]}, hosts=[0, 2, 1, 0, 2, 3, 4])
    hashed = frame.select("*", F.xxhash64("user").alias("key"), row_hash(frame).alias("row"))
    laid_out = tt.repartition(hashed, LANES, F.col("user"), plan, split=True)
    found = laid_out.select("id", "key", "row", F.spark_partition_id().alias("at")).toPandas()
    light = found["key"].to_numpy().view(np.uint64) != np.uint64(hot)
    lanes = plan.route(found["key"].to_numpy())
    return {
        "rows": sorted(found["id"].tolist()) == list(range(ROWS)),
        "light rows where the plan says": bool(
            (lanes[light] == found["at"].to_numpy()[light]).all()
        ),
        "lanes of the hot key": sorted(set(found["at"].to_numpy()[~light].tolist())),
    }


def survives_a_kill(spark: SparkSession, scratch: Path) -> dict[str, Any]:
    """Work slowly behind layouts that split keys, by plan and by router, while being disturbed."""
    markers = scratch / "running"
    markers.mkdir()

    def work(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        from pyspark import TaskContext

        task = TaskContext.get()
        (markers / f"{task.partitionId()}-{task.attemptNumber()}-{os.getpid()}").touch()
        time.sleep(2.0)
        yield from frames

    results: dict[str, Any] = {}
    frame = clicks(spark)
    for name in ("trim", "pkg"):
        laid_out = tt.repartition(frame, LANES, "user", name, split=True)
        found = laid_out.mapInPandas(work, laid_out.schema).toPandas()
        results[name] = {
            "rows": len(found),
            "each once": sorted(found["id"].tolist()) == list(range(ROWS)),
        }
    counts = tt.group_by(frame, "user", lanes=LANES).agg(F.count("*").alias("n")).toPandas()
    results["counts"] = {"hot": int(counts.set_index("user")["n"]["hot"]), "keys": len(counts)}
    return results


def main() -> None:
    url, scratch = sys.argv[1], Path(sys.argv[2])
    spark = session(url, scratch)
    spark.sparkContext.setLogLevel("ERROR")
    # All three executors before anything is timed or killed.
    while len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) < 4:
        time.sleep(0.2)
    results = {"landing": where_rows_land(spark)}
    results["kill"] = survives_a_kill(spark, scratch)
    (scratch / "results.json").write_text(json.dumps(results))
    spark.stop()


if __name__ == "__main__":
    main()
