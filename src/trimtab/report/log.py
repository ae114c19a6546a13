"""A run, read from what a stream keeps in its checkpoint."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trimtab._checks import one_of
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import NAMES
from trimtab.journal.checkpoint import identity_of
from trimtab.journal.event_log import EventLog
from trimtab.journal.store import Store, store
from trimtab.journal.store.local import LocalStore
from trimtab.keys import hash_keys
from trimtab.report.run import BatchFigures, Run

WHOLE_KEYS = (
    "apply",
    "apply_with_state",
    "apply_in_arrow_with_state",
    "drop_duplicates",
    "running",
    "sessions",
)
"""Operations that need every row of a key in one place: the heaviest key is then the floor."""

_IS_HASH = re.compile("0x[0-9a-f]{16}")
"""How a log names a key by its hash."""


def read_run(
    checkpoint: str | os.PathLike[str],
    name: str | None = None,
    *,
    names: str = "plain",
    session: Any = None,
) -> Run:
    """Read all batches of a stream from its checkpoint.

    Batches without rows are left out. `name` is what the run is called; by default the last part
    of the address and its partitioner. With `names="hash"` hot keys that the log names as they are
    get the hash of their name instead. `session` is a Spark session, for places that only it opens.
    """
    place = checkpoint_store(checkpoint, session)
    log = EventLog(place)
    if not log:
        raise InvalidArgument(
            f"{place.uri} has no event log; give the checkpoint of a stream that has run a batch"
        )
    events = [event for event in log.events() if event.get("rows")]
    if not events:
        raise InvalidArgument(f"{log.uri} tells of no batch with rows yet; wait for one")
    if one_of("names", names, NAMES) == "hash":
        events = [_unnamed(event) for event in events]
    called = place.uri.rstrip("/").rpartition("/")[2]
    return Run(_named(called, events) if name is None else name, _batches(place, events))


def newest_run(checkpoint: str | os.PathLike[str], most: int, *, session: Any = None) -> Run | None:
    """Read the newest `most` batches of a stream, with or without rows; None before the first.

    The run is called by the checkpoint as it was given, and its partitioner.
    """
    place = store(checkpoint, session)
    events = EventLog(place).newest(most)
    return Run(_named(str(checkpoint), events), _batches(place, events)) if events else None


def checkpoint_store(where: str | os.PathLike[str], session: Any = None) -> Store:
    """Return the store of a checkpoint; refuse a directory that is not there."""
    place = store(where, session)
    if isinstance(place, LocalStore) and not place.root.is_dir():
        raise InvalidArgument(f"no such checkpoint directory: {place.root}")
    return place


def figures_of(
    events: Iterable[Mapping[str, Any]], *, splits_keys: bool, source: str = "event log"
) -> list[BatchFigures]:
    """Turn the lines of an event log into figures; `source` names the file in errors."""
    made = []
    for event in events:
        try:
            made.append(_figures(event, splits_keys))
        except KeyError as error:
            raise CorruptState(
                f"{source} is damaged: the line of batch {event.get('batch')} has no {error}"
            ) from error
        except (TypeError, ValueError) as error:
            raise CorruptState(
                f"{source} is damaged: the line of batch {event.get('batch')} cannot be read: "
                f"{error}"
            ) from error
    return made


def _batches(place: Store, events: list[dict[str, Any]]) -> list[BatchFigures]:
    identity = identity_of(place) or {}
    splits = identity.get("operation") not in WHOLE_KEYS
    return figures_of(events, splits_keys=splits, source=EventLog(place).uri)


def _unnamed(event: dict[str, Any]) -> dict[str, Any]:
    """Return a line of the log with hashes in place of names; a log of hashes is left alone."""
    named = {name: event[name] for name in ("hottest", "stragglers") if event.get(name)}
    return {**event, **{name: [_without_name(one) for one in named[name]] for name in named}}


def _without_name(fact: dict[str, Any]) -> dict[str, Any]:
    name = fact.get("key")
    if name is None or _IS_HASH.fullmatch(str(name)):
        return fact
    return {**fact, "key": f"{int(hash_keys([str(name)])[0]):#018x}"}


def _straggler(found: list[dict[str, Any]]) -> str | None:
    """Return in words which lane took longest, and why."""
    if not found:
        return None
    worst = found[0]
    key = "" if worst.get("key") is None else f" {worst['key']}"
    return (
        f"{worst['cause']}{key}: lane {worst['lane']} on {worst['executor']} took "
        f"{float(worst['seconds']):.2f} s, {float(worst['over']):.1f} times the mean"
    )


def _named(place: str, events: list[dict[str, Any]]) -> str:
    return f"{place} ({events[-1].get('partitioner', 'unknown')})"


def _moved_state(event: Mapping[str, Any]) -> str:
    """Say what state moved, what that cost, and what was expected."""
    state = event.get("state") or {}
    if not state.get("moved_keys"):
        return ""
    keys, size = int(state["moved_keys"]), int(state["moved_bytes"])
    text = f"{keys:,} keys of state moved, {size:,} bytes, {state['moving_seconds']:.2f} s of tasks"
    cost, expected = state.get("moving_cost"), (event.get("expected") or {}).get("cost")
    if cost is None or expected is None:
        return text
    return f"{text}: {cost:.2f} batches, {expected:.2f} expected"


def _figures(event: Mapping[str, Any], splits_keys: bool) -> BatchFigures:
    tasks = int(event["map_tasks"])
    look = event.get("look", {})  # lines of older versions have none
    decided = BatchFigures(
        batch=int(event["batch"]),
        loads=np.zeros(tasks),
        bound=0.0,
        rows=None if event.get("rows") is None else int(event["rows"]),
        version=int(event["plan_version"]),
        changed=bool(event["changed"]),
        reason=str(event["reason"]),
        seconds=float(event["seconds"]["total"]),
        look_seconds=look.get("seconds"),
        look=str(look.get("reason", "")),
        late=int(event["late_rows"]),
        tasks=tasks + int(event["reduce_tasks"] or 0),
        scaling=str(event["scaling"]),
        watermark=event.get("watermark"),
        moved_state=_moved_state(event),
        straggler=_straggler(event.get("stragglers") or []),
    )
    if not decided.rows:
        return decided  # nothing came in, or it could not be counted
    loads = np.asarray(event["loads"], dtype=np.float64)
    if loads.ndim != 1 or not np.isfinite(loads).all():
        raise ValueError(f"its loads are {event['loads']!r}, not a number per lane")
    if not loads.size:
        return decided  # rows were combined where the source has them: no lane had any
    total = float(loads.sum())
    hottest = tuple((str(hot["key"]), float(hot["share"]) * total) for hot in event["hottest"])
    heaviest = hottest[0][1] if hottest and not splits_keys else 0.0
    if event.get("shares"):
        # Lanes that were meant to be unequal are shown as if all were to be equal.
        shares = np.asarray(event["shares"], dtype=np.float64)
        loads, heaviest = loads / shares, heaviest / float(shares.max())
    return replace(
        decided,
        loads=loads,
        bound=max(total / loads.size, heaviest),
        hottest=hottest,
        distinct=int(event["distinct_keys"]),
        replication=float(event["replication"]),
        moved_bytes=int(event["bytes_moved"]),
    )
