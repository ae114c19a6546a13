from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import trimtab
from trimtab.cli.app import app


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretend that the package was installed from a checkout with three scripts."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    main = 'if __name__ == "__main__":\n'
    (folder / "good.py").write_text(f'"""Measures nothing.\n\nMore."""\n{main}    print("x")\n')
    (folder / "bad.py").write_text(f"import sys\n{main}    sys.exit(len(sys.argv))\n")
    (folder / "helper.py").write_text("ANSWER = 42\n")
    monkeypatch.setattr(trimtab, "__file__", str(tmp_path / "src" / "trimtab" / "__init__.py"))
    return folder


def test_benchmarks_are_listed_with_what_they_measure(checkout: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "--json"])
    assert json.loads(result.stdout) == [
        {"name": "bad", "measures": ""},
        {"name": "good", "measures": "Measures nothing."},
    ]
    assert "Measures nothing." in CliRunner().invoke(app, ["bench"]).stdout


def test_a_benchmark_runs_with_its_arguments(checkout: Path) -> None:
    assert CliRunner().invoke(app, ["bench", "good"]).exit_code == 0
    failed = CliRunner().invoke(app, ["bench", "bad", "--arg=--quick", "--arg=x"])
    assert failed.exit_code == 1
    assert "ended with exit code 3" in failed.stderr


def test_an_unknown_benchmark_lists_the_known_ones(checkout: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "nix"])
    assert result.exit_code == 2
    assert "known benchmarks: bad, good" in result.stderr


def test_without_the_sources_there_is_nothing_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trimtab, "__file__", str(tmp_path / "a" / "b" / "__init__.py"))
    result = CliRunner().invoke(app, ["bench"])
    assert result.exit_code == 2
    assert "checkout" in result.stderr
