from __future__ import annotations

from pathlib import Path

from tests.report.runs import batch, level, skewed
from trimtab.report import Run
from trimtab.report.pages import write_comparison, write_query


def test_the_page_of_a_comparison(tmp_path: Path) -> None:
    path = write_comparison(
        tmp_path / "r.html", "T", "L", [skewed(), level()], floors=[1.5, 2, 2], paragraphs=["Said."]
    )
    text = path.read_text(encoding="utf-8")
    assert text.count("<img ") == 5
    for word in ("Said.", "lost: to stragglers", "/c is hot", "All batches of Trimtab"):
        assert word in text


def test_the_page_of_a_query_that_never_counted_a_key(tmp_path: Path) -> None:
    run = Run("quiet", [batch(0, [3, 1])])
    text = write_query(tmp_path / "q.html", run).read_text(encoding="utf-8")
    assert text.count("<img ") == 2
    assert "1 batches on 2 lanes" in text
    assert "1.50 times" in text
