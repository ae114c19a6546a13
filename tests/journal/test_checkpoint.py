"""Checkpoint, event log, windows' arithmetic and the live view: all without Spark."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal.checkpoint import KEPT_BATCHES, Checkpoint, local_path, write_whole
from trimtab.journal.event_log import EventLog
from trimtab.report.follow import bars, follow
from trimtab.spark.stream.windows.panes import Windows, microseconds

QUERY = {"operation": "aggregate", "keys": ["user"], "window": 5}


def opened(where: Path, **changes: Any) -> Checkpoint:
    made = Checkpoint(where, {**QUERY, **changes})
    made.open()
    return made


def test_a_checkpoint_is_the_same_query_when_it_is_opened_again(tmp_path: Path) -> None:
    first = Checkpoint(tmp_path / "ck", QUERY).open()
    assert Checkpoint(f"file://{tmp_path}/ck", QUERY).open() == first


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"window": 6}, "its window is 5, here it is 6", id="another window"),
        pytest.param({"keys": ["shop"]}, "its keys is ['user']", id="another key"),
        pytest.param({"operation": "apply"}, "its operation is 'aggregate'", id="another task"),
    ],
)
def test_a_checkpoint_of_another_query_is_refused_by_name(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    opened(tmp_path)
    with pytest.raises(CorruptState) as refusal:
        opened(tmp_path, **change)
    assert "meta.json belongs to another query" in str(refusal.value)
    assert words in str(refusal.value)


def test_a_directory_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CorruptState, match=r"holds .thesis\.tex."):
        opened(tmp_path)


def test_what_was_written_is_read_back_and_the_last_batch_is_known(tmp_path: Path) -> None:
    made = opened(tmp_path)
    assert made.last_state() == -1
    assert made.read_plan(0) is None
    made.write_plan(0, {"lanes": 3})
    made.write_state(0, {"rows": 7})
    assert made.read_plan(0) == {"lanes": 3, "kind": "plans", "batch": 0}
    assert made.last_state() == 0


def test_files_that_were_mixed_up_are_refused_by_name(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.write_plan(4, {})
    (tmp_path / "plans" / "4.json").rename(tmp_path / "plans" / "5.json")
    with pytest.raises(CorruptState, match=r"5\.json holds the plans of batch 4"):
        made.read_plan(5)


def test_a_damaged_plan_is_refused_by_name(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.write_plan(4, {"lanes": 3})
    path = tmp_path / "plans" / "4.json"
    path.write_text(path.read_text().replace("3", "4"))
    with pytest.raises(CorruptState, match=r"4\.json is damaged"):
        made.read_plan(4)


def test_old_files_are_pruned_and_those_a_restart_needs_are_not(tmp_path: Path) -> None:
    made = opened(tmp_path)
    for batch in range(6):
        made.write_plan(batch, {})
        made.write_state(batch, {})
        made.directory("routers", str(batch)).mkdir(parents=True)
        made.directory("panes", str(batch)).mkdir(parents=True)
    made.prune(5, {"4", "5"})
    for kind in ("plans", "state", "routers"):
        left = sorted(path.name.removesuffix(".json") for path in (tmp_path / kind).iterdir())
        assert left == ["3", "4", "5"][-KEPT_BATCHES:]
    assert sorted(path.name for path in (tmp_path / "panes").iterdir()) == ["4", "5"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", "old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a", 5)  # type: ignore[arg-type]
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize("where", ["s3://bucket/ck", "hdfs://host/ck", "", 5, None])
def test_places_where_nothing_can_be_renamed_are_refused(where: object) -> None:
    with pytest.raises(InvalidArgument, match="checkpoint must be a"):
        local_path(where, "checkpoint")


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


@pytest.mark.parametrize(
    ("given", "micros"),
    [
        ("60 seconds", 60_000_000),
        ("1 Second", 1_000_000),
        ("interval 2 minutes", 120_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        (timedelta(milliseconds=250), 250_000),
        ("2 weeks", 14 * 86_400_000_000),
    ],
)
def test_durations_are_read_as_spark_reads_them(given: object, micros: int) -> None:
    assert microseconds(given, "window") == micros


@pytest.mark.parametrize("given", ["", "60", "seconds", "1 month", "-5 seconds", 60, None])
def test_other_durations_are_refused(given: object) -> None:
    with pytest.raises(InvalidArgument, match="window must be a duration"):
        microseconds(given, "window")


def test_windows_that_lose_rows_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="slide must not be longer than window"):
        Windows.of("10 seconds", "11 seconds", "0 seconds")
    with pytest.raises(InvalidArgument, match="longer than 0"):
        Windows.of("0 seconds", None, "0 seconds")


@pytest.mark.parametrize("windows", [Windows(10, 10, 0), Windows(10, 4, 0), Windows(12, 3, 0)])
def test_closing_windows_are_those_that_end_between_two_watermarks(windows: Windows) -> None:
    for before in range(-30, 30):
        for after in range(before, 40):
            first, last = windows.closing(before, after)
            starts = list(range(first, last + 1, windows.slide))
            every = range(-60 // windows.slide * windows.slide, 60, windows.slide)
            assert starts == [s for s in every if before < s + windows.window <= after]
    for pane in range(-20, 20, windows.pane):
        ends = [s + windows.window for s in every if s <= pane < s + windows.window]
        assert all(windows.over_by(pane, w) == (max(ends) <= w) for w in range(-30, 40))


def test_the_watermark_is_sparks_own() -> None:
    windows = Windows.of("10 seconds", None, "3 seconds")
    assert windows.advanced(0, None) == 0
    assert windows.advanced(0, 10_000_999) == 7_000_000
    assert windows.advanced(8_000_000, 10_000_999) == 8_000_000


def test_the_live_view_shows_batches_lanes_and_keys(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    console = Console(record=True, width=140, force_terminal=True)
    follow(str(tmp_path), console=console, until=lambda: True)
    assert "waiting for the first batch" in console.export_text()
    hottest = [{"key": "ann", "share": 0.25}]
    facts = {"loads": [10.0, 40.0], "max_over_mean": 1.6, "hottest": hottest, "reason": "why not"}
    log.append({"batch": 41, "rows": 1234, "seconds": {"total": 0.5}, **facts})
    follow(str(tmp_path), console=console, until=lambda: True)
    text = console.export_text()
    for words in ("41", "1,234", "1.60", "why not", "ann 25.0%", bars([10.0, 40.0])):
        assert words in text


def test_many_lanes_are_shown_by_the_fullest_of_each_group() -> None:
    assert len(bars([1.0] * 1000)) <= 32
    assert bars([0.0] * 63 + [5.0])[-1] == "█"
    assert bars([]) == ""


def test_the_log_is_plain_json(tmp_path: Path) -> None:
    EventLog(tmp_path).append({"batch": 0, "reason": "ünïcode\nand lines"})
    (line,) = (tmp_path / "eventlog.jsonl").read_text().splitlines()
    assert json.loads(line)["reason"] == "ünïcode\nand lines"
