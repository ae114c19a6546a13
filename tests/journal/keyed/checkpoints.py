"""A checkpoint with keyed state, written without Spark."""

from __future__ import annotations

from pathlib import Path

from tests.journal.keyed.tables import SCHEMA, table
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.keyed.manifest import LaneState, Manifest
from trimtab.journal.keyed.stack import Stack
from trimtab.journal.store.local import LocalStore


def keyed_checkpoint(place: Path) -> Manifest:
    """Write two lanes with the keys 3 and 9, and nothing; return their manifest."""
    stack = Stack(LocalStore(place), (), SCHEMA)
    stack.add(table([(3, 0, 1, -1, 30), (9, 0, 1, -1, 90), (5, 0, 0, -1, 0)]))
    files = stack.written("keyed/0-0-a.arrow", 0)
    manifest = Manifest((LaneState(files, 2), LaneState()), "plan", "", "")
    operation = {"manifest": manifest.to_record()}
    Checkpoint(place, {}).write_state(0, {"operation": operation})
    return manifest
