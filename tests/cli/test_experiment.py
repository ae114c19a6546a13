from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from trimtab.cli.app import app
from trimtab.experiments import EXPERIMENTS


def test_the_list_names_all() -> None:
    result = CliRunner().invoke(app, ["experiment", "--list", "--json"])
    assert [row["name"] for row in json.loads(result.stdout)] == list(EXPERIMENTS)


def test_an_experiment_leaves_a_csv_file_a_picture_and_verdicts(tmp_path: Path) -> None:
    words = ["experiment", "prompt-13", "--scale", "0.1", "--seeds", "1", "--json"]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert {row["experiment"] for row in rows} == {"prompt-13"}
    assert (tmp_path / "prompt-13.csv").read_text().startswith("partitioner,")
    assert (tmp_path / "prompt-13.png").stat().st_size > 1000


def test_a_wrong_name_and_no_name_are_mistakes() -> None:
    for words in (["experiment", "prompt-9"], ["experiment"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        assert "prompt-10" in result.stderr
