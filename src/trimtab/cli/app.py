"""All subcommands under one name, and what happens when something goes wrong."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from trimtab import __version__
from trimtab.cli import (
    bench,
    claims,
    experiment,
    follow,
    partitioners,
    profile,
    receive,
    report,
    route,
    send,
    simulate,
    state,
)
from trimtab.cli.output import USER_MISTAKE, examples, say
from trimtab.errors import TrimtabError


class _Commands(TyperGroup):
    """A user's mistake becomes one sentence on stderr and exit code 2, without a traceback."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except TrimtabError as error:
            say(f"trimtab: {error}")
            raise typer.Exit(USER_MISTAKE) from error


app = typer.Typer(
    name="trimtab",
    cls=_Commands,
    help="Keep skewed Spark jobs level: see which keys are hot, what they cost, and what helps.",
    epilog=examples(
        "trimtab profile clicks.parquet --key user",
        "trimtab route clicks.parquet --key user --partitioner hash --partitioner trim --lanes 32",
        "trimtab partitioners",
    )
    + "\n\nExit codes: 0 all is well, 1 a check failed, 2 the call was wrong.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"trimtab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (
    *(profile, route, partitioners, follow, report, state, bench),
    *(receive, send),
    *(simulate, experiment, claims),
):
    app.command(command.NAME, epilog=command.EXAMPLES)(command.run)


def main() -> None:
    """Run the command line."""
    app()
