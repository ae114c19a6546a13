from __future__ import annotations

from tests.report.runs import batch, skewed
from trimtab.report import Run
from trimtab.report.pictures.hot_keys import hot_keys


def test_words_tell_the_highest_share_of_each_key() -> None:
    words = hot_keys(skewed()).words
    assert "/a 50.0%" in words
    assert "/c 50.0%" in words
    assert "One lane's worth is 25.0%." in words


def test_only_so_many_keys_are_drawn() -> None:
    words = hot_keys(skewed(), most=1).words
    assert sum(key in words for key in ("/a", "/b", "/c")) == 1


def test_a_run_without_keys_says_so() -> None:
    assert "no key was counted" in hot_keys(Run("x", [batch(0, [1, 1])])).words
