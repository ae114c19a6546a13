"""`trimtab bench`: runs the benchmarks of a source checkout."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

import trimtab
from trimtab.cli.output import FAILED_CHECK, AsJson, examples, say, show
from trimtab.errors import InvalidArgument, UnknownName
from trimtab.report import Table
from trimtab.report.table import Column

NAME = "bench"
EXAMPLES = examples(
    "trimtab bench",
    "trimtab bench kernels",
    "trimtab bench kernels --arg=--quick",
)


def run(
    name: Annotated[
        str | None, typer.Argument(help="Which benchmark; without it they are listed.")
    ] = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", help="Passed on to the benchmark; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark of a source checkout, or list them."""
    found = benchmarks()
    if name is None:
        table = Table(
            "Benchmarks",
            (Column("name", "name"), Column("measures", "measures")),
            [(key, _first_line(path)) for key, path in found.items()],
        )
        show([table], table.to_dicts(), as_json)
        return
    if name not in found:
        raise UnknownName("benchmark", name, found)
    code = subprocess.run([sys.executable, str(found[name]), *(arg or [])], check=False).returncode
    if code:
        say(f"benchmark {name} ended with exit code {code}")
        raise typer.Exit(FAILED_CHECK)


def benchmarks() -> dict[str, Path]:
    """Find the scripts of the checkout that this package was installed from."""
    folder = Path(trimtab.__file__).parents[2] / "benchmarks"
    found = {path.stem: path for path in sorted(folder.glob("*.py")) if _is_script(path)}
    if not found:
        raise InvalidArgument(
            "benchmarks come with the sources; run this in a checkout that is installed with "
            "`make setup`"
        )
    return found


def _is_script(path: Path) -> bool:
    return "__main__" in path.read_text(encoding="utf-8")


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0]
