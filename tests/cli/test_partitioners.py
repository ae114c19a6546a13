from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trimtab.cli.app import app
from trimtab.partitioners import class_of
from trimtab.planners import PLANNERS
from trimtab.routers import ROUTERS, Router


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
            whole = cls.same_lane_in_every_task or cls.decides_once
            assert row["splits_keys_on_spark"] == (not whole)
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
