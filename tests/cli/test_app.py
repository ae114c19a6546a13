from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from trimtab import __version__
from trimtab.cli.app import app

COMMANDS = [command.name for command in app.registered_commands]


def trimtab(*arguments: str) -> subprocess.CompletedProcess[str]:
    # A terminal of fixed width and no colours: what is compared must not depend on the machine.
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(
        [sys.executable, "-m", "trimtab", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"trimtab {command}" in result.stdout


def test_a_mistake_of_the_user_leaves_no_traceback_and_exit_code_2() -> None:
    done = trimtab("route", "no-such-file.parquet", "--key", "page")
    assert done.returncode == 2
    assert done.stderr == "trimtab: no such file or directory: no-such-file.parquet\n"
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [["nix"], ["route"], ["route", "--lanes", "many"]], ids=str)
def test_a_wrong_call_has_exit_code_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_the_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"trimtab {__version__}\n")


def test_no_command_is_loaded_with_spark() -> None:
    code = (
        "import sys, trimtab.cli.app\n"
        "sys.exit(bool({'pyspark', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
