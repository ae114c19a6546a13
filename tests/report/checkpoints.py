"""Checkpoints as a stream leaves them, written by the journal itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.event_log import EventLog


def event(batch: int, loads: list[float], **facts: Any) -> dict[str, Any]:
    """Return a line as the stream's runner writes it."""
    return {
        "batch": batch,
        "at": "2026-01-01T00:00:00.000+00:00",
        "partitioner": "trim",
        "plan": "90106cb38fcf83bb",
        "plan_version": 1 + batch,
        "changed": True,
        "reason": f"reason {batch}",
        "moved": 0.25,
        "map_tasks": len(loads),
        "reduce_tasks": None,
        "scaling": "",
        "late_rows": 3,
        "rows": sum(loads),
        "distinct_keys": 12,
        "hottest": [{"key": "/a", "share": 0.5}, {"key": "/b", "share": 0.25}],
        "loads": loads,
        "max_over_mean": 2.0,
        "replication": 1.5,
        "bytes_moved": 4096,
        "seconds": {"total": 2.5, "planning": 0.5, "running": 1.5, "recording": 0.5},
        **facts,
    }


def checkpoint(place: Path, *events: dict[str, Any], operation: str = "aggregate") -> Path:
    Checkpoint(place, {"operation": operation, "keys": ["page"]}).open()
    log = EventLog(place)
    for line in events:
        log.append(line)
    return place
