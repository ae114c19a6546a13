from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import trimtab
from tests.journal.store.s3_server import BUCKET, s3_server
from tests.report.checkpoints import event
from trimtab.cli.follow import new_events
from trimtab.journal.event_log import EventLog
from trimtab.journal.store import store


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


def test_a_checkpoint_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    result = trimtab("follow", tmp_path / "nix", code=2)
    assert "no such checkpoint directory" in result.stderr


def test_before_the_first_batch_follow_waits(tmp_path: Path) -> None:
    assert "waiting for the first batch" in trimtab("follow", tmp_path, "--once").stdout
    assert json.loads(trimtab("follow", tmp_path, "--once", "--json").stdout) is None


def test_a_batch_that_is_logged_between_two_reads_comes_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log grows after its last line was asked for, and before all of its lines are read."""
    log = EventLog(tmp_path)
    numbers = count()
    ask = EventLog.last

    def grow_and_ask(self: EventLog) -> object:
        log.append(event(next(numbers), [1, 1]))
        last = ask(self)
        log.append(event(next(numbers), [1, 1]))
        return last

    monkeypatch.setattr(EventLog, "last", grow_and_ask)
    found = new_events(tmp_path, every=0.001)
    assert [next(found)["batch"] for _ in range(6)] == [1, 2, 3, 4, 5, 6]


def test_a_checkpoint_in_an_object_store_is_followed_by_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with s3_server() as shelf:
        settings = {"ENDPOINT_URL": shelf.endpoint, "ALLOW_HTTP": "true", "REGION": "us-east-1"}
        for name, value in {**settings, "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        EventLog(f"s3://{BUCKET}/ck").append(event(7, [30, 10]))
        found = trimtab("follow", f"s3://{BUCKET}/ck", "--once", "--json").stdout
        assert json.loads(found)["batch"] == 7
        assert "7" in trimtab("follow", f"s3://{BUCKET}/ck", "--once").stdout
        assert json.loads(trimtab("report", f"s3://{BUCKET}/ck", "--json").stdout)["lanes"] == 2


@pytest.mark.spark
def test_a_checkpoint_that_only_hadoop_opens_is_followed_through_spark(
    spark: Any, tmp_path: Path
) -> None:
    # The command uses the session that is there.
    spark.conf.set("fs.viewfs.mounttable.followed.linkFallback", f"file://{tmp_path}")
    EventLog(store("viewfs://followed/ck", spark)).append(event(7, [30, 10]))
    found = trimtab("follow", "viewfs://followed/ck", "--once", "--json").stdout
    assert json.loads(found)["batch"] == 7
