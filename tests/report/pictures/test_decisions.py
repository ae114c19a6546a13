from __future__ import annotations

from tests.report.runs import batch, level, skewed
from trimtab.report import Run
from trimtab.report.pictures.decisions import decisions


def test_decisions_tell_their_reasons_and_how_many_there_are() -> None:
    words = decisions([skewed(), level()]).words
    assert "2 times in 3 batches" in words
    assert "first plan" in words
    assert "keep" not in words
    many = Run("x", [batch(b, [1, 1], changed=True, reason=f"r{b}") for b in range(20)])
    assert "and 12 more" in decisions([many]).words


def test_a_long_reason_is_cut_and_a_missing_one_replaced() -> None:
    run = Run(
        "x",
        [
            batch(0, [1, 1], changed=True),
            batch(1, [1, 1], changed=True, reason="because of this " * 20),
        ],
    )
    words = decisions([run]).words
    assert "1 (batch 0): new plan" in words
    assert words.endswith(" …")
