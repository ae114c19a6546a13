"""When each lane was worked on and where, told from inside its task.

A task that runs Python for a lane notes when it began and ended and which executor it ran on. That
is one text among its rows, and an observation takes it from there: no second pass, nothing that
Spark Connect lacks.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from trimtab.control.machines import LaneTimes
from trimtab.spark.columns import quoted
from trimtab.spark.counting.observed import has_arrived

_NOTES = "notes"


@cache
def executor_here() -> str:
    """Return the executor that this process works for, as `address/id`.

    Spark tells Python nothing of it; but the executor that started this process was told on its
    command line. Where there is none, Spark runs in one process: the driver.
    """
    pid = os.getpid()
    while pid > 1:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        if "--executor-id" in words and "--hostname" in words:
            address = words[words.index("--hostname") + 1]
            return f"{address}/{words[words.index('--executor-id') + 1]}"
    return f"{socket.gethostname()}/driver"


class TaskClock:
    """Notes, inside a task, when the work on its lane began and ended."""

    def __init__(self) -> None:
        self._started = time.time()
        # Clocks of the day can be set; how long it took is not to change by that.
        self._ticks = time.perf_counter()

    def note(self, rows: int, lane: int | None = None) -> dict[str, Any]:
        """Return what is known as the work ends; by default of the lane that is the partition."""
        if lane is None:
            context = TaskContext.get()
            lane = 0 if context is None else context.partitionId()
        return {
            "lane": lane,
            "rows": rows,
            "started": self._started,
            "ended": self._started + time.perf_counter() - self._ticks,
            "executor": executor_here(),
        }


class LaneClock:
    """An observation of what the tasks of one frame have noted."""

    def __init__(self) -> None:
        self._observation = Observation()

    def on(self, df: DataFrame, column: str) -> DataFrame:
        """Return the frame, without the column in which one row of each lane has its note."""
        seen = df.observe(self._observation, F.expr(f"collect_list({quoted(column)}) AS {_NOTES}"))
        return seen.drop(column)

    def read(self, lanes: int | None = None, *, wait: bool = True) -> LaneTimes | None:
        """Return the times of the lanes; None if no action has run, or nothing was noted.

        Without `wait`, what is under way on Spark's bus of events is not waited for.
        """
        if not has_arrived(self._observation, wait=wait):
            return None
        notes = [json.loads(note) for note in self._observation.get.get(_NOTES) or []]
        return lane_times(notes, lanes)


def lane_times(
    notes: Iterable[dict[str, Any]],
    lanes: int | None = None,
    rows: NDArray[np.float64] | None = None,
) -> LaneTimes | None:
    """Put what tasks have noted together; None if that is nothing.

    Parameters
    ----------
    notes
        What `TaskClock.note` has returned, at most once for each lane.
    lanes
        Number of lanes; by default up to the last one that has a note.
    rows
        Rows of each lane, where they were counted; by default as noted.
    """
    by_lane = {int(note["lane"]): note for note in notes}
    count = max(by_lane, default=-1) + 1 if lanes is None else lanes
    by_lane = {lane: note for lane, note in by_lane.items() if lane < count}
    if not by_lane:
        return None
    made = LaneTimes(
        np.zeros(count),
        np.full(count, np.nan),
        np.full(count, np.nan),
        tuple(str(by_lane[lane]["executor"]) if lane in by_lane else "" for lane in range(count)),
    )
    for lane, note in by_lane.items():
        made.starts[lane], made.ends[lane] = note["started"], note["ended"]
        made.rows[lane] = note["rows"] if rows is None else rows[lane]
    return made
