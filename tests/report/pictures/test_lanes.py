from __future__ import annotations

from tests.report.runs import level, skewed
from trimtab.report.pictures.lanes import lanes


def test_bars_show_the_median_batch_unless_told() -> None:
    assert "batch 5, the median" in lanes([skewed(), level()]).caption
    told = lanes([skewed(), level()], at=2)
    assert "batch 7." in told.caption
    assert "heaviest lane 30" in told.words


def test_words_tell_every_runs_heaviest_lane_and_bound() -> None:
    words = lanes([skewed(), level()]).words
    assert "Spark's hash: heaviest lane 30 rows, lower bound 15" in words
    assert "Trimtab: heaviest lane 15 rows, lower bound 15" in words
