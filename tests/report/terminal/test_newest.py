from __future__ import annotations

import pytest

from tests.report.runs import batch, level, skewed
from tests.report.terminal.drawn import drawn
from trimtab.report import Run
from trimtab.report.terminal import newest_batch


def test_a_view_names_batch_lanes_keys_and_ratio() -> None:
    text = drawn(newest_batch(skewed()))
    assert "batch 7: 80 rows, max/mean 1.50, 3.0 s" in text
    assert "lower bound 20" in text
    assert "37.5%  /c" in text
    assert text.count("▒") > 0


def test_level_lanes_do_not_pass_the_bound() -> None:
    text = drawn(newest_batch(level()))
    assert "▒" not in text
    assert "new plan (version 2): /c is hot" in text


def test_a_kept_plan_says_so() -> None:
    kept = newest_batch(Run("x", level().batches[:2]))
    assert "plan kept (version 1): still level" in drawn(kept)


@pytest.mark.parametrize(
    ("lanes", "rows", "lines"),
    [
        pytest.param(16, None, 16, id="a line per lane"),
        pytest.param(16, 12, 0, id="a low terminal gets one line of blocks"),
        pytest.param(100, None, 0, id="so do many lanes"),
    ],
)
def test_lanes_fit_the_terminal(lanes: int, rows: int | None, lines: int) -> None:
    text = drawn(newest_batch(Run("x", [batch(0, [2.0] * lanes)]), rows=rows))
    assert sum(" 2" in line and "█" in line for line in text.splitlines()) == lines
    assert ("lower bound" in text) == bool(lines)


def test_views_that_are_compared_share_a_scale() -> None:
    alone = drawn(newest_batch(level()))
    compared = drawn(newest_batch(level(), highest=40))
    assert compared.count("█") < alone.count("█")


def test_an_empty_batch_can_be_viewed() -> None:
    assert "none counted" in drawn(newest_batch(Run("x", [batch(0, [0, 0])])))


def test_the_history_is_drawn_from_level_up() -> None:
    run = Run("x", [batch(0, [4, 0, 0, 0]), batch(1, [1, 1, 1, 1])])
    assert "max/mean so far █▁ 1.00" in drawn(newest_batch(run))
