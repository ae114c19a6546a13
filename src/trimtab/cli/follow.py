"""`trimtab follow`: a running stream, live, from the event log in its checkpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from trimtab._checks import real, whole
from trimtab.cli.output import AsJson, console, examples
from trimtab.cli.report import CheckpointDirectory
from trimtab.errors import InvalidArgument
from trimtab.report.log import read_run
from trimtab.report.view import view

NAME = "follow"
EXAMPLES = examples(
    "trimtab follow ck/",
    "trimtab follow ck/ --batches 10",
    "trimtab follow ck/ --once",
    "trimtab follow ck/ --json   # a line per batch, as the event log has it",
)


def run(
    checkpoint: CheckpointDirectory,
    every: Annotated[float, typer.Option(help="Seconds between two looks.")] = 0.5,
    batches: Annotated[
        int | None, typer.Option(help="End after so many batches. Default: go on until Ctrl-C.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show the newest batch and end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a stream's lanes, hottest keys and decisions while it runs."""
    real("--every", every, 0, low_open=True)
    if batches is not None:
        whole("--batches", batches, 1)
    if not checkpoint.is_dir():
        raise InvalidArgument(f"no such checkpoint directory: {checkpoint}")
    if once:
        _show_once(checkpoint, as_json)
        return
    try:
        _follow(new_events(checkpoint, every, batches), checkpoint, as_json)
    except KeyboardInterrupt:
        # How people end it: no failure.
        return


def new_events(checkpoint: Path, every: float, most: int | None) -> Iterator[dict[str, Any]]:
    """Give the newest batch, then each further one as it is logged, `most` of them at most."""
    from trimtab.spark.eventlog import EventLog

    log = EventLog(checkpoint)
    seen, given = -1, 0
    while True:
        newest = log.last()
        if newest is not None and newest["batch"] > seen:
            # Several batches may have been logged since the last look.
            fresh = [newest] if seen < 0 else [e for e in log.events() if e["batch"] > seen]
            for event in fresh:
                yield event
                given += 1
                if given == most:
                    return
            seen = newest["batch"]
        time.sleep(every)


def _follow(events: Iterator[dict[str, Any]], checkpoint: Path, as_json: bool) -> None:
    if as_json:
        for event in events:
            typer.echo(json.dumps(event))
        return
    from rich.live import Live
    from rich.text import Text

    out = console()
    with Live(Text("waiting for a batch ..."), console=out, auto_refresh=False) as live:
        for event in events:
            if event.get("rows"):
                live.update(view(read_run(checkpoint), rows=out.height), refresh=True)


def _show_once(checkpoint: Path, as_json: bool) -> None:
    found = read_run(checkpoint)
    if as_json:
        from trimtab.spark.eventlog import EventLog

        typer.echo(json.dumps(EventLog(checkpoint).last(), indent=2))
        return
    console().print(view(found))
