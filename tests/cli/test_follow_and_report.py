from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.report.checkpoints import checkpoint, event
from trimtab.cli.app import app
from trimtab.cli.follow import new_events
from trimtab.journal.event_log import EventLog


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


def test_follow_shows_the_newest_batches_once(place: Path) -> None:
    text = trimtab("follow", place, "--once").stdout
    assert "reason 0" in text
    assert "50.0%  /a" in text
    assert "max/bound" in text
    assert json.loads(trimtab("follow", place, "--once", "--json").stdout)["batch"] == 1


@contextmanager
def running(place: Path, first: int) -> Iterator[None]:
    """Log a batch every few milliseconds for as long as somebody follows, however slow that is."""
    over = threading.Event()

    def run() -> None:
        for batch in count(first):
            EventLog(place).append(event(batch, [1, 1]))
            if over.wait(0.05):
                return

    writer = threading.Thread(target=run)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def test_follow_ends_after_the_batches_asked_for(place: Path) -> None:
    with running(place, first=2):
        text = trimtab("follow", place, "--every", 0.02, "--batches", 2).stdout
        lines = trimtab("follow", place, "--every", 0.02, "--batches", 2, "--json").stdout
    assert "reason" in text
    first, second = (json.loads(line)["batch"] for line in lines.splitlines())
    assert second == first + 1


def test_a_follower_gets_every_batch_even_several_between_two_looks(tmp_path: Path) -> None:
    with running(tmp_path, first=0):
        found = new_events(tmp_path, every=0.3)
        numbers = [next(found)["batch"] for _ in range(6)]
    assert numbers == list(range(numbers[0], numbers[0] + 6))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["--every", "0"], "--every must be"), (["--batches", "0"], "--batches must be")],
    ids=str,
)
def test_mistakes_of_follow(place: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in trimtab("follow", place, *arguments, code=2).stderr
