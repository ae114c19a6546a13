from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from trimtab.cli.app import app
from trimtab.cli.claims import measure
from trimtab.experiments.ledger import verdicts


def test_one_experiment_is_measured_by_name() -> None:
    assert measure("prompt-12", 0.1, 1).claims


@pytest.mark.slow
def test_a_page_is_written_from_the_experiments_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "claims.md"
    words = ["claims", "--only", "prompt-12", "--scale", "0.1", "--seeds", "1", "--processes", "1"]
    result = CliRunner().invoke(app, [*words, "--page", str(page), "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert {name for name, _ in verdicts(page.read_text())} == {"prompt-12"}
