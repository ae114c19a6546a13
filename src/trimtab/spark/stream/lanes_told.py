"""What is known of the lanes of a batch once it has run: who has measured it, what the log says."""

from __future__ import annotations

from typing import Any

from trimtab.control.machines import LaneTimes, Machines
from trimtab.spark.counting.observed import Observed
from trimtab.spark.counting.task_records import TaskRecords
from trimtab.spark.lane_report import lane_report
from trimtab.spark.session_facts import is_connect
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.operations.base import Keeping, Results, Running, Wanted

UNTIMED = (
    "on Spark Connect the lanes of for_each_batch cannot be timed, since only Spark knows when a "
    "task with the user's own code has ended, and Connect shows no records of tasks: lanes stay as "
    "many as they are; apply, group_by and state per key are timed"
)


def times_of(
    records: TaskRecords, running: Running, wanted: Wanted, results: Results, keeping: Keeping[Any]
) -> LaneTimes | None:
    """Return when lanes were worked on: as their tasks say, else by Spark's records of them.

    None if rows were on no lane, or nobody has measured it.
    """
    if not wanted.on_lanes:
        return None
    lanes = running.batch.lanes
    told = keeping.times
    if told is None and results.clock is not None:
        told = results.clock.read(lanes)
    return records.read(running.session, lanes) if told is None else told


def why_untimed(
    running: Running, wanted: Wanted, seen: Observed | None, times: LaneTimes | None
) -> dict[str, str]:
    """Return what the event log says where lanes had rows, and nobody could measure them."""
    worked = wanted.on_lanes and seen is not None and seen.rows > 0
    missing = worked and times is None and is_connect(running.session)
    return {"untimed": UNTIMED} if missing else {}


def event_of_lanes(
    times: LaneTimes | None,
    machines: Machines,
    course: Course,
    seen: Observed | None,
    kept: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return what the event log says of lanes, executors and virtual workers.

    Parameters
    ----------
    times, machines
        When the lanes were worked on, and what is known of the executors after the batch.
    course, seen
        How the batch routed, and its figures.
    kept
        What the driver keeps for the routers.
    """
    keys = None if seen is None else seen.histogram
    event = lane_report(times, machines, course.route.plan, keys, course.shares)
    if kept is not None and "signals" in kept:
        event["delegation"] = {name: kept[name] for name in ("signals", "virtual_workers")}
    return event
