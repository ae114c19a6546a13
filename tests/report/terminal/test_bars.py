from __future__ import annotations

import pytest

from trimtab.report.terminal.bars import bars


@pytest.mark.parametrize(
    ("loads", "line"),
    [
        pytest.param([1, 4, 2], "▂█▄", id="the heaviest lane is a full block"),
        pytest.param([0, 1e-9, 8], "·▁█", id="a lane with hardly anything is not one without"),
        pytest.param([0, 0], "··", id="no load at all"),
        pytest.param([], "", id="no lanes"),
    ],
)
def test_loads_become_blocks(loads: list[float], line: str) -> None:
    assert bars(loads) == line


def test_lines_can_share_a_scale() -> None:
    assert bars([5, 10], highest=10) == "▄█"
    assert bars([5], highest=10) == "▄"
    assert bars([20], highest=10) == "█"


def test_many_lanes_are_shown_by_the_fullest_of_each_group() -> None:
    assert len(bars([1.0] * 1000, most=32)) <= 32
    assert bars([0.0] * 63 + [5.0], most=32)[-1] == "█"
    assert bars([0.0] * 63 + [5.0], most=32)[:-1] == "·" * 31


def test_what_stands_for_nothing_can_be_chosen() -> None:
    assert bars([0, 4], nothing="▁") == "▁█"
