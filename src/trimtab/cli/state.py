"""`trimtab state`: shows what a stream keeps per key, lane by lane, and what moved when."""

from __future__ import annotations

from typing import Annotated

import typer

from trimtab._checks import whole
from trimtab.cli.output import AsJson, examples, show
from trimtab.cli.report import CheckpointAddress, session_for
from trimtab.journal.event_log import EventLog
from trimtab.journal.keyed.inspection import largest_states, manifest_of
from trimtab.journal.keyed.manifest import Manifest
from trimtab.journal.store import Store
from trimtab.report import Table
from trimtab.report.log import checkpoint_store
from trimtab.report.table import Column

NAME = "state"
EXAMPLES = examples("trimtab state ck/", "trimtab state ck/ --batch 41", "trimtab state ck/ --json")


def run(
    checkpoint: CheckpointAddress,
    batch: Annotated[
        int | None, typer.Option(help="After which batch. Default: the newest.")
    ] = None,
    keys: Annotated[int, typer.Option(help="How many of the largest states to name.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the state of a stream's keys: its size by lane, its largest keys, what moved when."""
    whole("--keys", keys, 0)
    with session_for(checkpoint) as session:
        place = checkpoint_store(checkpoint, session)
        manifest = manifest_of(place, batch)
        tables = [_lanes(manifest), _keys(place, manifest, keys), _moves(place)]
    names = ("lanes", "largest_keys", "moves")
    data = {name: table.to_dicts() for name, table in zip(names, tables, strict=True)}
    show(tables, data, as_json)


def _lanes(manifest: Manifest) -> Table:
    columns = (
        Column("lane", "lane"),
        Column("keys", "keys", ",d"),
        Column("bytes", "bytes", ",d"),
        Column("files", "files"),
    )
    rows = [
        (number, lane.keys, lane.size, len(lane.files))
        for number, lane in enumerate(manifest.lanes)
    ]
    total = sum(lane.size for lane in manifest.lanes)
    return Table(f"State of {manifest.key_count:,} keys, {total:,} bytes", columns, rows)


def _keys(place: Store, manifest: Manifest, most: int) -> Table:
    columns = (Column("key", "key"), Column("lane", "lane"), Column("bytes", "bytes", ",d"))
    return Table("Largest states", columns, largest_states(place, manifest, most))


def _moves(place: Store) -> Table:
    columns = (
        Column("batch", "batch"),
        Column("keys", "keys moved", ",d"),
        Column("bytes", "bytes", ",d"),
        Column("seconds", "task seconds", ".3f"),
        Column("cost", "cost in batches", ".3f"),
        Column("expected", "expected", ".3f"),
        Column("reason", "why"),
    )
    rows = []
    for event in EventLog(place).events():
        state = event.get("state") or {}
        if state.get("moved_keys"):
            moved = (state["moved_keys"], state["moved_bytes"], state["moving_seconds"])
            expected = (event.get("expected") or {}).get("cost")
            costs = (state.get("moving_cost"), expected)
            rows.append((event["batch"], *moved, *costs, event["reason"]))
    return Table("What moved", columns, rows)
