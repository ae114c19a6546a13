from __future__ import annotations

import json

import pytest
import typer

from trimtab.cli.output import FAILED_CHECK, check_limit, console, examples, say, show
from trimtab.report import Table
from trimtab.report.table import Column

TABLE = Table("What came out", (Column("name", "partitioner"),), [("trim",)])


def test_a_result_is_a_table_for_people_or_json_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show([TABLE], TABLE.to_dicts(), as_json=False)
    text = capsys.readouterr().out
    assert "What came out" in text
    assert "partitioner" in text
    show([TABLE], TABLE.to_dicts(), as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"name": "trim"}]


def test_what_is_not_the_result_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("page written")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "page written\n")


def test_a_pipe_gets_lines_that_are_not_folded(capsys: pytest.CaptureFixture[str]) -> None:
    assert console().width == 160


@pytest.mark.parametrize(
    ("ratio", "limit"),
    [
        pytest.param(9.0, None, id="nothing was asked"),
        pytest.param(1.1, 1.2, id="below the limit"),
        pytest.param(1.2, 1.2, id="at the limit"),
    ],
)
def test_a_check_that_holds_says_nothing(
    ratio: float, limit: float | None, capsys: pytest.CaptureFixture[str]
) -> None:
    check_limit("trim", ratio, limit)
    assert capsys.readouterr().err == ""


def test_a_check_that_fails_says_why_and_ends_with_its_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.Exit) as ended:
        check_limit("trim", 1.25, 1.2)
    assert ended.value.exit_code == FAILED_CHECK
    assert capsys.readouterr().err == "check failed: max/mean of trim is 1.250, above 1.2\n"


def test_examples_stand_on_lines_of_their_own() -> None:
    assert examples("trimtab a", "trimtab b").split("\n\n") == [
        "Examples:",
        "  trimtab a",
        "  trimtab b",
    ]
