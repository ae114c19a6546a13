"""When each lane was worked on and where, from Spark's own records of its tasks.

For work that is not ours to time: what a user's function does with the rows of a batch. Spark keeps
these records on the driver, with or without a web UI; Spark Connect shows them to nobody.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from trimtab.control.machines import LaneTimes
from trimtab.spark.counting.observed import BUS_MILLISECONDS
from trimtab.spark.session_facts import is_connect

MOST_TASKS = 1 << 14
"""Tasks of a stage that are read."""


class TaskRecords:
    """Reads the records of the jobs that a stream's query has started since the last reading."""

    def __init__(self) -> None:
        self._newest_job = -1

    def read(self, session: SparkSession, lanes: int) -> LaneTimes | None:
        """Return the times of the lanes; None if no stage had a task for each of them.

        Of several such stages, the one that took longest is meant: the others only looked at the
        rows. It must be called where the query's own thread runs.
        """
        if is_connect(session):
            return None
        try:
            return self._read(session.sparkContext, lanes)
        except (Py4JError, TypeError, KeyError):
            # Records are Spark's own affair: a version that keeps others is no reason to fail.
            return None

    def _read(self, context: SparkContext, lanes: int) -> LaneTimes | None:
        context._jsc.sc().listenerBus().waitUntilEmpty(BUS_MILLISECONDS)
        tracker = context.statusTracker()
        group = context.getLocalProperty("spark.jobGroup.id")
        if group is None:
            return None
        jobs = [int(job) for job in tracker.getJobIdsForGroup(group)]
        found: list[list[dict[str, Any]]] = []
        for job in (job for job in jobs if job > self._newest_job):
            known = tracker.getJobInfo(job)
            for stage in () if known is None else known.stageIds:
                facts = tracker.getStageInfo(stage)
                if facts is not None and facts.numTasks == lanes:
                    found.append(_tasks(context, int(stage), int(facts.currentAttemptId)))
        self._newest_job = max([self._newest_job, *jobs])
        # Only a stage behind a shuffle works on lanes.
        behind = [tasks for tasks in found if any(_rows(task) for task in tasks)]
        if not behind:
            return None
        return _times(max(behind, key=lambda tasks: sum(map(_ran, tasks))), lanes)


def _tasks(context: SparkContext, stage: int, attempt: int) -> list[dict[str, Any]]:
    # As one text: every field that Python asks for is a conversation of its own.
    jvm: Any = context._jvm
    writer = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
    tasks = context._jsc.sc().statusStore().taskList(stage, attempt, MOST_TASKS)
    found = json.loads(writer.writeValueAsString(tasks))
    return [task for task in found if task["status"] == "SUCCESS" and task.get("taskMetrics")]


def _rows(task: dict[str, Any]) -> int:
    return int(task["taskMetrics"]["shuffleReadMetrics"]["recordsRead"])


def _ran(task: dict[str, Any]) -> float:
    return float(task["taskMetrics"]["executorRunTime"]) / 1e3


def _times(tasks: list[dict[str, Any]], lanes: int) -> LaneTimes:
    names = [""] * lanes
    rows, starts, ends = np.zeros(lanes), np.full(lanes, np.nan), np.full(lanes, np.nan)
    for task in tasks:
        # `index` is the place in this attempt of the stage, `partitionId` that among the lanes.
        lane = int(task["partitionId"]) if int(task.get("partitionId", -1)) >= 0 else task["index"]
        if lane >= lanes:
            continue
        launched = np.datetime64(str(task["launchTime"]).removesuffix("GMT"), "ms")
        ended = launched.astype(np.int64) / 1e3 + float(task["duration"]) / 1e3
        rows[lane], starts[lane], ends[lane] = _rows(task), ended - _ran(task), ended
        names[lane] = f"{task['host']}/{task['executorId']}"
    return LaneTimes(rows, starts, ends, tuple(names))
