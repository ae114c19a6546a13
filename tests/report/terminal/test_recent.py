from __future__ import annotations

import pytest

from tests.report.runs import batch, level, skewed
from tests.report.terminal.drawn import drawn
from trimtab.report import Run
from trimtab.report.terminal import bars, recent_batches

LONG = "moving a third of the state would take longer than the next ten batches together"
KEYS = {f"/a/rather/long/name/of/a/page/{number}": 1.0 for number in range(5)}


def test_each_batch_has_a_line_and_the_newest_has_its_lanes_and_keys() -> None:
    text = drawn(recent_batches(skewed(), "clicks"), width=140)
    lines = text.splitlines()
    assert "clicks" in lines[0]
    for number, ratio, lanes in ((5, "2.00", [30, 10, 10, 10]), (6, "2.00", [10, 40, 10, 20])):
        (line,) = (line for line in lines if line.startswith(f"│      {number} "))
        assert ratio in line
        assert bars(lanes) in line
    assert "lanes of batch 7" in text
    assert "lower bound 20" in text
    assert " 37.5%  /c" in text


def test_decisions_are_told_for_every_batch_and_in_full_for_the_newest() -> None:
    text = drawn(recent_batches(level(), "x"), width=140)
    assert "1 new" in text
    assert "first plan" in text
    assert "  still level" in text
    assert "new plan (version 2): /c is hot" in text


def test_facts_of_the_newest_batch() -> None:
    facts = {"distinct": 1200, "replication": 1.5, "watermark": "2026-01-01T00:00", "tasks": 6}
    run = Run("x", [batch(0, [1, 1], rows=2, scaling="grew from 2 to 4", **facts)])
    text = drawn(recent_batches(run, "x"), width=140)
    assert "1,200 keys   1.50 lanes per key   watermark 2026-01-01T00:00 " in text
    assert "6 tasks: grew from 2 to 4" in text


def test_it_says_whether_the_keys_were_looked_at_and_why() -> None:
    looked = batch(1, [3.0] * 4, look="a surprise costs more", look_seconds=0.25)
    text = drawn(recent_batches(Run("x", [looked] * 30), "x", width=80, rows=24), width=80)
    assert "look of 0.25 s: a surprise costs more" in text
    assert len(text.splitlines()) < 24
    blind = Run("x", [batch(1, [3.0] * 4, look="a look costs more")])
    assert "no look: a look costs more" in drawn(recent_batches(blind, "x"))


def test_what_was_not_counted_is_not_shown_as_a_figure() -> None:
    text = drawn(recent_batches(Run("x", [batch(3, [0, 0], seconds=0.5)]), "x"), width=140)
    (line,) = (line for line in text.splitlines() if line.startswith("│      3 "))
    assert line.split()[1:8] == ["3", "-", "0.50", "-", "-", "-", "-"]
    assert "none counted" in text
    assert "lanes of batch" not in text


def test_before_the_first_batch_it_waits() -> None:
    assert "waiting for the first batch" in drawn(recent_batches(None, "x"))


@pytest.mark.parametrize(
    ("rows", "batches", "lines"),
    [
        pytest.param(40, 12, 4, id="a high terminal has room for the lanes"),
        pytest.param(24, 12, 0, id="a usual one has room for the batches"),
        pytest.param(16, 4, 0, id="a low one has room for some of them"),
    ],
)
@pytest.mark.parametrize("width", [80, 120])
def test_the_view_fits_the_terminal(width: int, rows: int, batches: int, lines: int) -> None:
    facts: dict[str, object] = {"version": 1, "reason": LONG, "hottest": tuple(KEYS.items())}
    facts |= {"distinct": 7, "replication": 1.0, "scaling": LONG, "tasks": 4}
    run = Run("x", [batch(b, [3.0] * 4, rows=12, **facts) for b in range(100, 112)])
    text = drawn(recent_batches(run, "x", width=width, rows=rows), width=width)
    assert text.count("█ 3") == lines
    assert sum(f" 1{number:02d} " in text for number in range(12)) == batches
    assert len(text.splitlines()) < rows
    assert max(map(len, text.splitlines())) == width


def test_a_narrow_terminal_gets_the_reason_of_the_newest_batch_alone() -> None:
    text = drawn(recent_batches(level(), "x", width=80), width=80)
    assert "still level" not in text
    assert "new plan (version 2): /c is hot" in text


def test_reasons_break_where_there_is_room_and_are_cut_where_there_is_none() -> None:
    run = Run("x", [batch(b, [3.0] * 4, version=1, reason=LONG) for b in range(4)])
    whole = drawn(recent_batches(run, "x", width=120), width=120)
    cut = drawn(recent_batches(run, "x", width=120, rows=30), width=120)
    assert len(whole.splitlines()) > len(cut.splitlines())
    assert "…" in cut
    assert "…" not in whole


def test_names_that_look_like_markup_are_shown_as_they_are() -> None:
    made = batch(0, [1, 1], version=1, reason="[red] is hot", hottest=(("[bold]", 1.0),))
    text = drawn(recent_batches(Run("x", [made]), "[blink]"), width=120)
    assert text.count("[red] is hot") == 2
    assert "[bold]" in text
    assert "[blink]" in text


def test_whom_others_waited_for_is_said() -> None:
    late = batch(1, [3.0] * 4, straggler="slow machine: lane 1 on m2/1 took 2.00 s")
    assert "waited for slow machine: lane 1 on m2/1" in drawn(
        recent_batches(Run("x", [late]), "x"), width=140
    )
