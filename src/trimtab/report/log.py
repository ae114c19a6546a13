"""A run out of the event log that a stream keeps in its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.report.run import Batch, Run

WHOLE_KEYS = ("apply",)
"""Operations that need every row of a key in one place: the heaviest key is then the floor."""


def read_run(checkpoint: str | Path, name: str | None = None) -> Run:
    """Read the event log of a checkpoint directory.

    Batches without rows are left out. `name` is what the run is called; by default the directory's
    name and its partitioner.
    """
    from trimtab.journal.event_log import FILE, EventLog

    place = Path(checkpoint)
    if not place.is_dir():
        raise InvalidArgument(f"no such checkpoint directory: {place}")
    if not (place / FILE).is_file():
        raise InvalidArgument(
            f"{place} has no {FILE}; give the checkpoint directory of a stream that has run a batch"
        )
    splits = operation_of(place) not in WHOLE_KEYS
    events = list(EventLog(place).events())
    batches = batches_of(events, splits_keys=splits, source=str(place / FILE))
    if not batches:
        raise InvalidArgument(f"{place / FILE} tells of no batch with rows yet; wait for one")
    made = f"{place.absolute().name} ({events[-1].get('partitioner', 'unknown')})"
    return Run(made if name is None else name, batches)


def operation_of(checkpoint: Path) -> str | None:
    """Tell what the query of a checkpoint does: aggregate, apply or for_each_batch."""
    meta = checkpoint / "meta.json"
    try:
        found = json.loads(meta.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise CorruptState(f"{meta} is damaged: {error}") from error
    operation = found.get("operation") if isinstance(found, dict) else None
    return operation if isinstance(operation, str) else None


def batches_of(
    events: Iterable[Mapping[str, Any]], *, splits_keys: bool, source: str = "event log"
) -> list[Batch]:
    """Turn the lines of an event log into batches; `source` names the file in errors."""
    made = []
    for event in events:
        if not event.get("rows"):
            continue
        try:
            made.append(_batch(event, splits_keys))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(
                f"{source} is damaged: the line of batch {event.get('batch')} has no usable {error}"
            ) from error
    return made


def _batch(event: Mapping[str, Any], splits_keys: bool) -> Batch:
    loads = np.asarray(event["loads"], dtype=np.float64)
    total = float(loads.sum())
    hottest = tuple((str(hot["key"]), float(hot["share"]) * total) for hot in event["hottest"])
    heaviest = hottest[0][1] if hottest and not splits_keys else 0.0
    return Batch(
        batch=int(event["batch"]),
        loads=loads,
        bound=max(total / loads.size, heaviest),
        hottest=hottest,
        distinct=int(event["distinct_keys"]),
        replication=float(event["replication"]),
        version=int(event["plan_version"]),
        changed=bool(event["changed"]),
        reason=str(event["reason"]),
        seconds=float(event["seconds"]["total"]),
        late=int(event["late_rows"]),
        tasks=int(event["map_tasks"]) + int(event["reduce_tasks"] or 0),
        moved_bytes=int(event["bytes_moved"]),
    )
