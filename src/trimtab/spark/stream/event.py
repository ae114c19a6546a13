"""What the event log says of a batch: one line of plain figures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from trimtab.metrics import max_over_mean
from trimtab.spark.counting.observed import Observed
from trimtab.spark.routing.route import Route
from trimtab.spark.stream.course import Course

HOTTEST = 5
"""Hot keys that the event log names."""


def event_of(
    number: int, course: Course, seen: Observed | None, *, on_lanes: bool
) -> dict[str, Any]:
    """Return the line of a batch, without its times and what its operation adds.

    Parameters
    ----------
    number
        Spark's number of the batch.
    course
        How it routed.
    seen
        Its figures; None if nobody used its rows.
    on_lanes
        Whether rows moved to their lanes.
    """
    route = course.route
    event: dict[str, Any] = {
        "batch": number,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "partitioner": route.name,
        "plan": None if route.plan is None else route.plan.fingerprint,
        "plan_version": course.version,
        "changed": course.changed,
        "reason": course.reason,
        "moved": round(course.moved, 6),
        "expected": _expected(course),
        "weighed_by": course.weighed_by,
        "look": course.look.to_event(),
        "map_tasks": route.lanes,
        "shares": list(course.shares) or None,
        "reduce_tasks": course.reduce_tasks,
        "scaling": course.scaling,
        "late_rows": 0,
    }
    return event if seen is None else event | _figures(course, seen, on_lanes)


def _expected(course: Course) -> dict[str, float] | None:
    """Return what a change was expected to win per batch and to cost, in level batch times."""
    if course.expected is None:
        return None
    gain, cost = course.expected
    return {"gain": round(gain, 4), "cost": round(cost, 4)}


def _figures(course: Course, seen: Observed, on_lanes: bool) -> dict[str, Any]:
    route = course.route
    known = seen.histogram
    # Rows that were combined where the source has them were on no lane, or in a receiver's blocks.
    loads = np.array(course.blocks, dtype=float) if seen.loads is None else seen.loads
    hottest = known.top(HOTTEST)
    level = max_over_mean(loads, course.shares or None) if loads.sum() else None
    return {
        "rows": seen.rows,
        "distinct_keys": known.distinct,
        "hottest": [
            {"key": hottest.label(int(key)), "share": round(float(share), 4)}
            for key, share in zip(hottest.hashes, hottest.shares, strict=True)
        ],
        "loads": [round(float(load), 1) for load in loads],
        "max_over_mean": None if level is None else round(level, 4),
        "replication": round(_replication(route, seen), 4),
        "bytes_moved": round(seen.row_bytes * seen.rows) if on_lanes else 0,
    }


def _replication(route: Route, seen: Observed) -> float:
    """Return lanes per key: counted where only the rows can tell, else by the plan."""
    distinct = seen.histogram.distinct
    if seen.pairs is not None and distinct:
        return max(1.0, seen.pairs / distinct)
    if route.plan is None or not distinct:
        return 1.0
    extra = int((np.diff(route.plan.starts) - 1).sum())
    return 1.0 + extra / max(distinct, len(route.plan))
