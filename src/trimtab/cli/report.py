"""`trimtab report`: writes the page of a stream, from the event log in its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trimtab._checks import one_of
from trimtab.cli.output import AsJson, Check, Names, check_limit, examples, say, show
from trimtab.histogram import NAMES
from trimtab.report import tables
from trimtab.report.log import read_run
from trimtab.report.pages import write_query

NAME = "report"
EXAMPLES = examples(
    "trimtab report ck/ --output report.html",
    "trimtab report ck/ --json",
    "trimtab report ck/ --check 1.2   # exit code 1 if max/mean was above 1.2 on average",
)

CheckpointDirectory = Annotated[
    Path, typer.Argument(metavar="CHECKPOINT", help="The checkpoint directory of the stream.")
]


def run(
    checkpoint: CheckpointDirectory,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the page is written.")
    ] = Path("report.html"),
    names: Names = "plain",
    check: Check = None,
    as_json: AsJson = False,
) -> None:
    """Write a page with pictures of a finished or running stream; with --json, only its figures."""
    found = read_run(checkpoint, names=one_of("--names", names, NAMES))
    batches = tables.batches(found)
    data = {
        "run": found.name,
        "lanes": found.lanes,
        "max_over_mean": found.max_over_mean,
        "over_bound": found.over_bound,
        "replication": found.replication,
        "seconds": found.seconds,
        "new_plans": tables.decisions(found).to_dicts(),
        "batches": batches.to_dicts(),
    }
    show([tables.summary([found]), tables.decisions(found)], data, as_json)
    if not as_json:
        say(f"page written to {write_query(output, found)}")
    check_limit(found.name, found.max_over_mean, check)
