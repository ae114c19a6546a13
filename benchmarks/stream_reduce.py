"""The reduce stage of windows: how level it is, and what passes it by."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from spark_runs import Results
from stream_inputs import LANES, write_batches, zipf_batches
from stream_windows import STEP, ours
from trimtab.metrics import max_over_mean
from trimtab.spark.stream.windows import operation

CLOSINGS = 4
"""Batches that are measured. Those before run cold, or before a window is full."""
KEYS = 1_000_000
"""Keys of the reduce stage: of 100,000 its tasks last some milliseconds, most of that to begin."""

Tasks = list[dict[str, Any]]
"""What Spark has recorded of the tasks of a stage."""


class Stages:
    """Reads what Spark has recorded of the stages of a query, from inside of its sink."""

    def __init__(self) -> None:
        self._newest = -1

    def since(self, spark: SparkSession) -> list[Tasks]:
        """Return the stages that have ended since the last call."""
        context: Any = spark.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty(10_000)
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        mapper = context._jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        jobs = tracker.getJobIdsForGroup(context.getLocalProperty("spark.jobGroup.id"))
        known = [tracker.getJobInfo(job) for job in sorted(jobs) if job > self._newest]
        self._newest = max([self._newest, *jobs])
        stages = [stage for facts in known if facts for stage in facts.stageIds]
        found = [json.loads(mapper.writeValueAsString(store.taskList(s, 0, 99))) for s in stages]
        return [tasks for tasks in found if tasks]


def reduce_stage(spark: SparkSession, rows: int, results: Results, scratch: Path) -> None:
    """Show how level the reduce stage is with Prompt's buckets and by hash, at two skews.

    Without adaptive execution, so that there is a task for each bucket either way.
    """
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(LANES)}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    for skew in (1.0, 1.5):
        write_batches(scratch / f"{skew}", zipf_batches([rows] * (CLOSINGS + 3), KEYS, skew), STEP)
        for how, partitioner in (("Prompt's buckets", "prompt"), ("hash", "hash")):
            stages, seen = Stages(), list[Tasks]()

            def write(frame: DataFrame, _: Any, read: Any = stages, to: Any = seen) -> None:
                read.since(frame.sparkSession)
                frame.write.format("noop").mode("overwrite").save()
                behind = [t for t in read.since(frame.sparkSession) if sum(map(_received, t))]
                to.extend(tasks for tasks in behind if len(tasks) == LANES)

            root = scratch / f"{skew} {partitioner}"
            ours(
                spark,
                scratch / f"{skew}",
                root,
                "20 seconds",
                "2 seconds",
                partitioner,
                function=write,
            )
            figures = {
                "partial results": [max_over_mean(np.array(list(map(_received, t)))) for t in seen],
                "CPU seconds": [max_over_mean(np.array(list(map(_cpu, t)))) for t in seen],
                "seconds": [max_over_mean(np.array(list(map(_ran, t)))) for t in seen],
            }
            told = ", ".join(f"{n} {np.median(v[-CLOSINGS:]):.3f}" for n, v in figures.items())
            last = seen[-1]
            results.console.print(
                f"  Zipf {skew}, {how}: max/mean per reduce task, median of {CLOSINGS} closings: "
                f"{told}; aim: 1.1. In the last one {np.mean(list(map(_received, last))):,.0f} "
                f"partial results and {np.mean(list(map(_cpu, last))):.3f} CPU seconds per task, "
                "in the order of tasks " + " ".join(f"{_cpu(task):.3f}" for task in last)
            )
            shutil.rmtree(root)
    for name, value in before.items():
        spark.conf.set(name, str(value))


def forward(spark: SparkSession, rows: int, results: Results, scratch: Path) -> None:
    """Tumbling windows of rows on lanes, with Dalton's key forwarding and merging every key."""
    write_batches(scratch / "words", zipf_batches([rows] * (CLOSINGS + 4), 100_000, 1.0), STEP)
    took: dict[str, float] = {}
    for turn in range(2):
        for how in ("every key is merged", "whole keys pass by"):
            stages, sent, seconds = Stages(), list[int](), list[float]()

            def write(
                frame: DataFrame, _: Any, read: Any = stages, to: Any = sent, at: Any = seconds
            ) -> None:
                read.since(frame.sparkSession)
                begun = time.perf_counter()
                frame.write.format("noop").mode("overwrite").save()
                at.append(time.perf_counter() - begun)
                to.append(sum(_sent(t) for tasks in read.since(frame.sparkSession) for t in tasks))

            root = scratch / f"{how} {turn}"
            with _forwarding(how != "every key is merged"):
                shape = ("10 seconds", None)
                ours(spark, scratch / "words", root, *shape, layout="lanes", function=write)
            took[how] = float(np.median(seconds[-CLOSINGS:]))
            results.console.print(
                f"  turn {turn + 1}, {how}: {np.median(sent[-CLOSINGS:]):,.0f} bytes of shuffle, "
                f"{took[how]:.3f} s, median of {CLOSINGS} closings"
            )
            shutil.rmtree(root)
    what = f"closing windows of 10 seconds, {rows:,} rows on {LANES} lanes, 100,000 keys, Zipf 1.0"
    results.add(what, took, "every key is merged")


@contextmanager
def _forwarding(allowed: bool) -> Iterator[None]:
    """Let windows forward whole keys, or not."""
    closed = operation.closed_windows

    def merging(*given: Any, **more: Any) -> DataFrame:
        return closed(*given, **{**more, "whole": False, "split": None})

    if not allowed:
        operation.closed_windows = merging
    try:
        yield
    finally:
        operation.closed_windows = closed


def _received(task: dict[str, Any]) -> int:
    return int(task["taskMetrics"]["shuffleReadMetrics"]["recordsRead"])


def _sent(task: dict[str, Any]) -> int:
    return int(task["taskMetrics"]["shuffleWriteMetrics"]["bytesWritten"])


def _cpu(task: dict[str, Any]) -> float:
    return float(task["taskMetrics"]["executorCpuTime"]) / 1e9


def _ran(task: dict[str, Any]) -> float:
    return float(task["taskMetrics"]["executorRunTime"]) / 1e3
