"""How commands speak: tables or JSON on stdout, sentences on stderr, numbers as exit codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from trimtab.report import Table

FAILED_CHECK = 1
USER_MISTAKE = 2

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Check = Annotated[
    float | None,
    typer.Option(
        metavar="RATIO", help="Exit with 1 if max/mean is above this ratio; for use in scripts."
    ),
]

Names = Annotated[
    str,
    typer.Option(
        metavar="NAMES", help="How hot keys are named: plain, as they are, or only by their hash."
    ),
]


def console() -> Console:
    """Return a console on the stdout of this moment; a pipe gets wide lines that are not folded."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=160)


def show(tables: Sequence[Table], data: Any, as_json: bool) -> None:
    """Print the tables, or the data behind them."""
    if as_json:
        typer.echo(json.dumps(data, indent=2))
        return
    out = console()
    for table in tables:
        out.print(table.to_rich())


def say(sentence: str) -> None:
    """Print a sentence that is not part of the result, on stderr."""
    typer.echo(sentence, err=True)


def examples(*lines: str) -> str:
    """Return the epilog of a help text; empty lines keep the examples apart."""
    return "\n\n".join(("Examples:", *(f"  {line}" for line in lines)))


def check_limit(name: str, ratio: float, limit: float | None) -> None:
    """Exit with 1 if a ratio is above the limit; None is no limit."""
    if limit is not None and ratio > limit:
        say(f"check failed: max/mean of {name} is {ratio:.3f}, above {limit:g}")
        raise typer.Exit(FAILED_CHECK)
