from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journal.store.places import Place
from trimtab.errors import CorruptState
from trimtab.journal import event_log
from trimtab.journal.event_log import EventLog


def batches(place: Path) -> list[int]:
    return [event["batch"] for event in EventLog(place).events()]


def objects(place: Path) -> list[str]:
    return sorted(path.name for path in (place / "events").iterdir())


def test_the_log_has_one_line_per_batch_whatever_ran_again(place: Place) -> None:
    log = EventLog(place.open())
    for batch in (0, 1, 2, 2):
        log.append({"batch": batch, "try": "first"})
    again = EventLog(place.open())
    again.append({"batch": 2, "try": "second"})
    assert [(e["batch"], e["try"]) for e in again.events()] == [
        (0, "first"),
        (1, "first"),
        (2, "second"),
    ]
    assert again.last() == {"batch": 2, "try": "second"}


def test_lines_are_brought_together_on_every_place(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "TOGETHER", 3)
    log = EventLog(place.open())
    for batch in range(11):
        log.append({"batch": batch})
    assert [event["batch"] for event in EventLog(place.open()).events()] == list(range(11))
    assert len(place.open().list("events/")) == 3


def test_lines_of_many_batches_are_brought_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "TOGETHER", 4)
    log = EventLog(tmp_path)
    for batch in range(39):
        log.append({"batch": batch})
        assert len(objects(tmp_path)) <= 3 + 3 + 1 + batch // 16
    assert objects(tmp_path)[0] == "000000000000-000000000015.jsonl"
    assert batches(tmp_path) == list(range(39))
    assert [event["batch"] for event in log.newest(6)] == list(range(33, 39))
    assert [event["batch"] for event in log.since(29)] == list(range(30, 39))


def test_a_stream_whose_log_begins_late_is_brought_together_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "TOGETHER", 4)
    log = EventLog(tmp_path)
    for batch in range(6, 21):
        log.append({"batch": batch})
    assert batches(tmp_path) == list(range(6, 21))
    assert len(objects(tmp_path)) < 8


def test_old_lines_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "TOGETHER", 4)
    monkeypatch.setattr(event_log, "KEPT_BATCHES", 20)
    log = EventLog(tmp_path)
    for batch in range(128):
        log.append({"batch": batch})
    left = batches(tmp_path)
    assert left[-1] == 127
    assert left == list(range(left[0], 128))
    assert 20 <= len(left) <= 40


def test_a_crash_while_lines_are_brought_together_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "TOGETHER", 4)
    log = EventLog(tmp_path)
    for batch in range(3):
        log.append({"batch": batch})
    singles = {name: (tmp_path / "events" / name).read_bytes() for name in objects(tmp_path)}
    log.append({"batch": 3})
    for name, data in singles.items():
        # As if the process had died before it removed them.
        (tmp_path / "events" / name).write_bytes(data)
    assert batches(tmp_path) == [0, 1, 2, 3]
    for batch in range(4, 8):
        EventLog(tmp_path).append({"batch": batch})
    assert batches(tmp_path) == list(range(8))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        pytest.param("000000000001.json", "hello\n", "line 1", id="a line that is no JSON"),
        pytest.param("000000000001.json", '{"rows": 0}\n', "not the line", id="no batch"),
        pytest.param("000000000001.json", '{"batch": 9}\n', "of batch 9", id="another batch"),
        pytest.param("notes.txt", "hello", "no part of an event log", id="a file of others"),
    ],
)
def test_a_damaged_log_is_refused_by_name(name: str, text: str, words: str, tmp_path: Path) -> None:
    EventLog(tmp_path).append({"batch": 0})
    (tmp_path / "events" / name).write_text(text)
    for read in (EventLog(tmp_path).check, lambda: batches(tmp_path)):
        with pytest.raises(CorruptState, match=name) as refusal:
            read()
        assert words in str(refusal.value)


def test_the_newest_lines_are_those_at_the_end_in_their_order(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    assert log.newest(3) == []
    assert log.last() is None
    for batch in range(5):
        log.append({"batch": batch, "loads": [batch] * 40_000})
    assert [event["batch"] for event in log.newest(3)] == [2, 3, 4]
    assert [event["batch"] for event in log.newest(9)] == [0, 1, 2, 3, 4]


def test_the_log_is_plain_json(tmp_path: Path) -> None:
    EventLog(tmp_path).append({"batch": 0, "reason": "ünïcode\nand lines"})
    (line,) = (tmp_path / "events" / "000000000000.json").read_text().splitlines()
    assert json.loads(line)["reason"] == "ünïcode\nand lines"
