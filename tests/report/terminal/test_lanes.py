from __future__ import annotations

import numpy as np
import pytest

from tests.report.runs import batch
from trimtab.report import BatchFigures
from trimtab.report.terminal.lanes import MOST, WIDTH, fit, lane_lines


def test_what_is_beyond_the_bound_is_drawn_differently() -> None:
    heavy, level, light, bound = (line.plain for line in lane_lines(batch(0, [20, 10, 0])))
    assert heavy.count("█") + heavy.count("▒") == WIDTH
    assert heavy.endswith(" 20")
    assert "▒" not in level
    assert "│" not in level
    assert light.index("│") == level.rindex("█") == bound.index("┘")
    assert bound.endswith("lower bound 10")


def test_bars_and_bound_stay_inside_the_width_unless_told_otherwise() -> None:
    above = BatchFigures(0, np.array([5.0, 5.0]), bound=10.0)
    assert len(lane_lines(above)[0].plain) == len("  0 ") + WIDTH + len(" 5")


def test_a_batch_without_load_has_lines_without_bars() -> None:
    lines = [line.plain for line in lane_lines(batch(0, [0, 0]))]
    assert lines[:2] == ["  0  0", "  1  0"]


@pytest.mark.parametrize(
    ("lanes", "height", "fits"),
    [
        pytest.param(16, None, True, id="no limit"),
        pytest.param(16, 17, True, id="a line per lane and one for the bound"),
        pytest.param(16, 16, False, id="no line for the bound"),
        pytest.param(MOST + 1, None, False, id="too many to take in"),
    ],
)
def test_lines_fit_or_not(lanes: int, height: int | None, fits: bool) -> None:
    assert fit(batch(0, [1.0] * lanes), height) == fits
