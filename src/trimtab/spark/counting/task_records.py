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

AT_ONCE = 4_000
"""Characters of a text that Java sends in one packet, even if every one is escaped. What needs a
second one waits until the first is acknowledged, 40 ms, which is longer than all the rest takes."""

MOST_PIECES = 64
"""Pieces in which a text is asked for, at most: more of them take longer than that wait."""


class TaskRecords:
    """Reads the records of the jobs that a stream's query has started since the last reading."""

    def __init__(self) -> None:
        self._newest_job = -1
        self._writer: Any = None

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
        jobs = _job_ids(context, group)
        store = context._jsc.sc().statusStore()
        behind = []
        for job in (job for job in jobs if job > self._newest_job):
            known = tracker.getJobInfo(job)
            for stage in () if known is None else known.stageIds:
                told = _last_attempt(store, int(stage))
                # Only a stage behind a shuffle works on lanes.
                if told is not None and told.numTasks() == lanes and told.shuffleReadRecords():
                    behind.append((told.executorRunTime(), int(stage), told.attemptId()))
        self._newest_job = max([self._newest_job, *jobs])
        if not behind:
            return None
        _, stage, attempt = max(behind)
        return _times(self._tasks(context, stage, attempt), lanes)

    def _tasks(self, context: SparkContext, stage: int, attempt: int) -> list[dict[str, Any]]:
        # As one text: every field that Python asks for is a conversation of its own.
        jvm: Any = context._jvm
        if self._writer is None:
            # Each of them finds out anew how the parts of a record are written.
            self._writer = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        text = jvm.java.io.StringWriter()
        tasks = context._jsc.sc().statusStore().taskList(stage, attempt, MOST_TASKS)
        self._writer.writeValue(text, tasks)
        found = json.loads(in_pieces(text.getBuffer()))
        return [task for task in found if task["status"] == "SUCCESS" and task.get("taskMetrics")]


def _last_attempt(store: Any, stage: int) -> Any:
    """Return what the store has of a stage, None if that is forgotten.

    The tracker would say the same, in a conversation for every field.
    """
    try:
        return store.lastStageAttempt(stage)
    except Py4JError:
        return None


def _job_ids(context: SparkContext, group: str) -> list[int]:
    # As one text, too: a query that has run for long has a thousand of them.
    jvm: Any = context._jvm
    ids = context._jsc.statusTracker().getJobIdsForGroup(group)
    words = str(jvm.java.util.Arrays.toString(ids)).strip("[]").split(",")
    return [int(word) for word in words if word.strip()]


def in_pieces(buffer: Any) -> str:
    """Return a text of Java's, asked for in pieces that each come at once."""
    length = int(buffer.length())
    if length > MOST_PIECES * AT_ONCE:
        return str(buffer.toString())
    starts = range(0, length, AT_ONCE)
    return "".join(buffer.substring(at, min(at + AT_ONCE, length)) for at in starts)


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
