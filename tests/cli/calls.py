"""How tests call the command line."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from trimtab.cli.app import app


def trimtab(*arguments: object, code: int = 0) -> Any:
    """Run the command in this process; what it printed is in `stdout` and `stderr`."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result
