"""`trimtab report`: writes the page of a stream, from the event log in its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from trimtab._checks import one_of
from trimtab.cli.output import AsJson, Check, Names, check_limit, examples, say, show
from trimtab.histogram import NAMES
from trimtab.journal.store.choice import needs_session
from trimtab.report import tables
from trimtab.report.log import read_run
from trimtab.report.pages import write_query

NAME = "report"
EXAMPLES = examples(
    "trimtab report ck/ --output report.html",
    "trimtab report ck/ --json",
    "trimtab report ck/ --check 1.2   # exit code 1 if max/mean was above 1.2 on average",
)

CheckpointAddress = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT", help="The stream's checkpoint: a directory, s3://, hdfs:/ and so on."
    ),
]


@contextmanager
def session_for(checkpoint: str) -> Iterator[Any]:
    """Start Spark if a checkpoint is at a place that only Hadoop can open; otherwise give None."""
    if not needs_session(checkpoint):
        yield None
        return
    from trimtab.spark.local_session import local_session

    with (
        TemporaryDirectory() as scratch,
        local_session(Path(scratch), "local[1]") as session,
    ):
        yield session


def run(
    checkpoint: CheckpointAddress,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the page is written.")
    ] = Path("report.html"),
    names: Names = "plain",
    check: Check = None,
    as_json: AsJson = False,
) -> None:
    """Write a page with pictures of a finished or running stream; with --json, only its figures."""
    with session_for(checkpoint) as session:
        names = one_of("--names", names, NAMES)
        found = read_run(checkpoint, names=names, session=session)
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
