from __future__ import annotations

import pytest
from rich.console import Console

from tests.report.runs import batch, level, skewed
from trimtab.report import Run
from trimtab.report.bars import bars
from trimtab.report.view import view


def drawn(run: Run, **options: float) -> str:
    console = Console(width=60)
    with console.capture() as captured:
        console.print(view(run, **options))  # type: ignore[arg-type]
    return captured.get()


def test_a_view_names_batch_lanes_keys_and_ratio() -> None:
    text = drawn(skewed())
    assert "batch 7: 80 rows, max/mean 1.50, 3.0 s" in text
    assert "lower bound 20" in text
    assert "37.5%  /c" in text
    assert text.count("▒") > 0


def test_level_lanes_do_not_pass_the_bound() -> None:
    text = drawn(level())
    assert "▒" not in text
    assert "new plan (version 2): /c is hot" in text


def test_a_kept_plan_says_so() -> None:
    assert "plan kept (version 1): still level" in drawn(Run("x", level().batches[:2]))


@pytest.mark.parametrize(
    ("lanes", "rows", "lines"),
    [
        pytest.param(16, None, 16, id="a line per lane"),
        pytest.param(16, 12, 0, id="a low terminal gets one line of blocks"),
        pytest.param(100, None, 0, id="so do many lanes"),
    ],
)
def test_lanes_fit_the_terminal(lanes: int, rows: int | None, lines: int) -> None:
    run = Run("x", [batch(0, [2.0] * lanes)])
    text = drawn(run) if rows is None else drawn(run, rows=rows)
    assert sum(" 2" in line and "█" in line for line in text.splitlines()) == lines
    assert ("lower bound" in text) == bool(lines)


def test_an_empty_batch_can_be_viewed() -> None:
    assert "none counted" in drawn(Run("x", [batch(0, [0, 0])]))


def test_bars_of_nothing() -> None:
    assert bars([0, 0]) == "▁▁"
    assert bars([5, 10], highest=10) == "▄█"
