"""`trimtab follow`: shows a running stream, live, from the event log in its checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from trimtab._checks import real, whole
from trimtab.cli.output import AsJson, console, examples
from trimtab.cli.report import CheckpointAddress, session_for
from trimtab.journal.event_log import EventLog
from trimtab.journal.store import Store
from trimtab.report.log import checkpoint_store
from trimtab.report.terminal.follow import follow, look

NAME = "follow"
EXAMPLES = examples(
    "trimtab follow ck/",
    "trimtab follow ck/ --batches 10",
    "trimtab follow ck/ --once",
    "trimtab follow ck/ --json   # a line per batch, as the event log has it",
)


def run(
    checkpoint: CheckpointAddress,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 0.5,
    batches: Annotated[
        int | None,
        typer.Option(help="End after so many further batches. Default: go on until Ctrl-C."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show the newest batches and end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a stream's lanes, hottest keys and decisions while it runs."""
    real("--every", every, 0, low_open=True)
    if batches is not None:
        whole("--batches", batches, 1)
    with session_for(checkpoint) as session:
        place = checkpoint_store(checkpoint, session)
        if as_json:
            _print_lines(place, every, batches, once)
        elif once:
            out = console()
            out.print(look(checkpoint, session=session, width=out.width))
        else:
            until = _after(place, batches)
            follow(checkpoint, session=session, console=console(), every=every, until=until)


def new_events(checkpoint: Store, every: float) -> Iterator[dict[str, Any]]:
    """Yield the line of each batch that is logged from now on, looking every so many seconds."""
    log = EventLog(checkpoint)
    seen = _newest(checkpoint)
    while True:
        newest = log.last()
        if newest is not None and newest["batch"] > seen:
            for event in log.since(seen):
                yield event
                seen = event["batch"]
        time.sleep(every)


def _print_lines(checkpoint: Store, every: float, most: int | None, once: bool) -> None:
    if once:
        typer.echo(json.dumps(EventLog(checkpoint).last()))
        return
    try:
        for count, event in enumerate(new_events(checkpoint, every), start=1):
            typer.echo(json.dumps(event))
            if count == most:
                return
    except KeyboardInterrupt:
        # How people end it: no failure.
        return


def _after(checkpoint: Store, batches: int | None) -> Callable[[], bool] | None:
    """Return a function that is true once so many more batches are done; None if without end."""
    if batches is None:
        return None
    last = _newest(checkpoint) + batches
    return lambda: _newest(checkpoint) >= last


def _newest(checkpoint: Store) -> int:
    newest = EventLog(checkpoint).last()
    return -1 if newest is None else int(newest["batch"])
