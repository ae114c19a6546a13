from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.errors import CorruptState
from trimtab.journal.event_log import EventLog


def test_the_log_has_one_line_per_batch_whatever_ran_again(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    for batch in (0, 1, 2, 2, 3):
        log.append({"batch": batch, "try": "first"})
    again = EventLog(tmp_path)
    again.append({"batch": 2, "try": "second"})
    assert [(e["batch"], e["try"]) for e in again.events()] == [
        (0, "first"),
        (1, "first"),
        (2, "second"),
    ]
    assert again.last() == {"batch": 2, "try": "second"}


def test_a_line_that_a_crash_cut_short_is_replaced(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.append({"batch": 0})
    with open(log.path, "a", encoding="utf-8") as file:
        file.write('{"batch": 1, "ro')
    assert [event["batch"] for event in EventLog(tmp_path).events()] == [0]
    assert EventLog(tmp_path).last() == {"batch": 0}
    EventLog(tmp_path).append({"batch": 1, "rows": 5})
    assert log.path.read_text() == '{"batch": 0}\n{"batch": 1, "rows": 5}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"batch": 0}\nhello\n', "line 2", id="a line that is no JSON"),
        pytest.param('{"rows": 0}\n', "line 1", id="a line without a batch"),
        pytest.param('{"batch": 3}\n{"batch": 2}\n', "line 2 is of batch 2", id="out of order"),
    ],
)
def test_a_damaged_log_is_refused_by_name(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "eventlog.jsonl").write_text(text)
    with pytest.raises(CorruptState, match=r"eventlog\.jsonl is damaged") as refusal:
        EventLog(tmp_path).check()
    assert words in str(refusal.value)


def test_the_last_line_is_found_however_long_lines_are(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    assert log.last() is None
    log.append({"batch": 0})
    log.append({"batch": 1, "loads": list(range(100_000))})
    assert (log.last() or {})["loads"][-1] == 99_999


def test_the_newest_lines_are_those_at_the_end_in_their_order(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    assert log.newest(3) == []
    for batch in range(5):
        # Longer than what is read at first.
        log.append({"batch": batch, "loads": [batch] * 40_000})
    assert [event["batch"] for event in log.newest(3)] == [2, 3, 4]
    assert [event["batch"] for event in log.newest(9)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"batch": 0}\nhello\n', "one of its last lines", id="no JSON"),
        pytest.param('{"batch": 3}\n{"batch": 2}\n', "of batch 2, after batch 3", id="no order"),
    ],
)
def test_damage_among_the_newest_lines_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "eventlog.jsonl").write_text(text)
    with pytest.raises(CorruptState, match=r"eventlog\.jsonl is damaged") as refusal:
        EventLog(tmp_path).newest(2)
    assert words in str(refusal.value)


@pytest.mark.parametrize("opened_again", [False, True])
def test_a_batch_far_back_takes_only_later_lines_with_it(
    opened_again: bool, tmp_path: Path
) -> None:
    log = EventLog(tmp_path)
    for batch in range(40):
        log.append({"batch": batch})
    log = EventLog(tmp_path) if opened_again else log
    log.append({"batch": 3, "try": "second"})
    assert [event["batch"] for event in log.events()] == [0, 1, 2, 3]
    log.append({"batch": 4})
    assert [event["batch"] for event in EventLog(tmp_path).events()] == [0, 1, 2, 3, 4]


def test_the_log_is_plain_json(tmp_path: Path) -> None:
    EventLog(tmp_path).append({"batch": 0, "reason": "ünïcode\nand lines"})
    (line,) = (tmp_path / "eventlog.jsonl").read_text().splitlines()
    assert json.loads(line)["reason"] == "ünïcode\nand lines"
