from __future__ import annotations

import pytest

from tests.report.runs import batch, level, skewed
from trimtab.report import Run, tables


def test_straggling_is_what_lanes_beyond_the_bound_cost() -> None:
    # The heaviest lanes are 2, 2 and 1.5 times the bound.
    assert tables.straggling(skewed(), [1.5, 2.0, 2.0]) == pytest.approx(1.5 + 2.0 + 1.0)
    assert tables.straggling(level(), [1.5, 2.0, 2.0]) == 0


def test_the_summary_shows_times_only_if_there_are_any() -> None:
    untimed = Run("untimed", [batch(0, [1, 1])])
    assert "seconds" not in tables.summary([untimed]).to_dicts()[0]
    first, second = tables.summary([skewed(), level()], [1.5, 2.0, 2.0]).to_dicts()
    assert first["seconds"] == pytest.approx(10 / 3)
    assert first["floor"] == second["floor"] == pytest.approx(5.5 / 3)
    assert first["straggling"] == pytest.approx(1.5)
    assert second["straggling"] == 0
    assert "floor" not in tables.summary([skewed(), level()]).to_dicts()[0]


def test_decisions_are_the_batches_that_changed_the_plan() -> None:
    rows = tables.decisions(level()).to_dicts()
    assert [(row["batch"], row["version"], row["reason"]) for row in rows] == [
        (5, 1, "first plan"),
        (7, 2, "/c is hot"),
    ]


def test_batches_leave_out_what_was_never_measured() -> None:
    row = tables.batches(skewed()).to_dicts()[1]
    assert row["hottest"] == "/c (50.0%)"
    assert row["seconds"] == 4.0
    assert not {"late", "tasks", "moved_bytes", "version"} & row.keys()
