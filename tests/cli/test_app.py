from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trimtab import __version__
from trimtab.cli.app import app
from trimtab.partitioners import class_of
from trimtab.planners import PLANNERS
from trimtab.routers import ROUTERS, Router

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


def test_partitioners_are_those_of_the_registries() -> None:
    rows = json.loads(CliRunner().invoke(app, ["partitioners", "--json"]).stdout)
    assert [row["name"] for row in rows] == [*ROUTERS, *PLANNERS]
    for row in rows:
        cls = class_of(row["name"], row["kind"])
        assert row["paper"] == cls.paper
        assert row["splits_keys"] == cls(lanes=2).splits_keys
        assert (row["cost"], row["state"]) == (cls.cost, cls.state_in_words)
        assert row["when"] == cls.use_when
        taken = [parameter["name"] for parameter in row["parameters"]]
        assert taken == [p.name for p in cls.takes if p.name not in ("lanes", "seed")]
        if issubclass(cls, Router):
            assert row["splits_keys_on_spark"] == (not cls.same_lane_in_every_task)
        else:
            assert row["splits_keys_on_spark"] == row["splits_keys"]


def test_partitioners_as_a_table_for_people() -> None:
    text = CliRunner().invoke(app, ["partitioners"]).stdout
    assert "use it when" in text
    assert "Consistent Grouping, Section 5.2" in text


def test_a_named_partitioner_is_shown_with_its_parameters() -> None:
    text = CliRunner().invoke(app, ["partitioners", "kip", "dalton"]).stdout
    for words in ("deciding takes", "heavy_per_lane", "0 or more", "'count-min'", "in (0, 1]"):
        assert words in text
    assert "cardinality" not in text
    rows = json.loads(CliRunner().invoke(app, ["partitioners", "trim", "--json"]).stdout)
    assert [(row["name"], row["kind"]) for row in rows] == [("trim", "router"), ("trim", "planner")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["kipp"], "unknown partitioner 'kipp'; known partitioners: am"),
        (["--markdown", "--json"], "--markdown prints the whole page; give it alone"),
        (["--markdown", "kip"], "--markdown prints the whole page; give it alone"),
    ],
    ids=str,
)
def test_mistakes_in_asking_for_partitioners(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["partitioners", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr


def test_the_page_of_all_partitioners_is_what_the_classes_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "partitioners.md"
    result = CliRunner().invoke(app, ["partitioners", "--markdown"])
    assert page.read_text() == result.stdout, (
        "write it anew: trimtab partitioners --markdown > docs/partitioners.md"
    )
