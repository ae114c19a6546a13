from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.report.test_log import checkpoint, event
from trimtab.cli.app import app
from trimtab.cli.follow import new_events
from trimtab.spark.eventlog import EventLog


def trimtab(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return checkpoint(tmp_path / "ck", event(0, [30, 10, 10, 10]), event(1, [20, 20, 20, 20]))


def test_report_writes_a_page_and_says_where(place: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    result = trimtab("report", place, "--output", page)
    assert f"page written to {page}" in result.stderr
    assert "reason 1" in result.stdout
    text = page.read_text(encoding="utf-8")
    assert "Trimtab: ck (trim)" in text
    assert text.count("<img ") == 4


def test_report_as_json_writes_nothing_else(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(trimtab("report", place, "--json").stdout)
    assert found["max_over_mean"] == pytest.approx((2 * 60 + 1 * 80) / 140)
    assert [row["reason"] for row in found["new_plans"]] == ["reason 0", "reason 1"]
    assert found["batches"][0]["moved_bytes"] == 4096
    assert not (tmp_path / "report.html").exists()


def test_report_can_be_a_check(place: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    trimtab("report", place, "-o", page, "--check", 2)
    failed = trimtab("report", place, "-o", page, "--check", 1.1, code=1)
    assert "check failed" in failed.stderr


@pytest.mark.parametrize("command", ["report", "follow"])
def test_a_checkpoint_that_is_not_there_is_a_mistake(command: str, tmp_path: Path) -> None:
    result = trimtab(command, tmp_path / "nix", code=2)
    assert "no such checkpoint directory" in result.stderr


def test_follow_shows_the_newest_batch_once(place: Path) -> None:
    text = trimtab("follow", place, "--once").stdout
    assert "batch 1: 80 rows, max/mean 1.00, 2.5 s" in text
    assert "50.0%  /a" in text
    assert json.loads(trimtab("follow", place, "--once", "--json").stdout)["batch"] == 1


def test_follow_ends_after_the_batches_asked_for(place: Path) -> None:
    assert "batch 1" in trimtab("follow", place, "--batches", 1).stdout
    line = trimtab("follow", place, "--batches", 1, "--json").stdout
    assert json.loads(line)["batch"] == 1


def test_follow_gives_every_batch_that_comes_even_several_at_once(place: Path) -> None:
    log = EventLog(place)
    found = new_events(place, every=0.01, most=4)
    assert next(found)["batch"] == 1

    def grow() -> None:
        for batch in (2, 3, 4):
            log.append(event(batch, [1, 1]))

    writer = threading.Timer(0.05, grow)
    writer.start()
    try:
        assert [e["batch"] for e in found] == [2, 3, 4]
    finally:
        writer.join()


def test_follow_waits_for_a_query_that_has_not_begun(tmp_path: Path) -> None:
    found = new_events(tmp_path, every=0.01, most=1)
    writer = threading.Timer(0.05, lambda: EventLog(tmp_path).append(event(0, [1, 1])))
    writer.start()
    try:
        assert [e["batch"] for e in found] == [0]
    finally:
        writer.join()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["--every", "0"], "--every must be"), (["--batches", "0"], "--batches must be")],
    ids=str,
)
def test_mistakes_of_follow(place: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in trimtab("follow", place, *arguments, code=2).stderr
