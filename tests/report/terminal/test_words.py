from __future__ import annotations

import pytest

from tests.report.runs import batch
from trimtab.report.terminal.words import decision, hot_keys, reason


def test_hot_keys_are_named_with_their_share() -> None:
    made = batch(0, [30, 10], hottest=(("/a", 20.0), ("/b", 4.0)))
    assert hot_keys(made, 5) == [" 50.0%  /a", " 10.0%  /b"]
    assert hot_keys(made, 1) == [" 50.0%  /a"]
    assert hot_keys(batch(0, [30, 10]), 5) == ["none counted"]
    assert hot_keys(batch(0, [0, 0], hottest=(("/a", 0.0),)), 5) == ["none counted"]


@pytest.mark.parametrize(
    ("changed", "why", "sentence"),
    [
        pytest.param(True, "change: /c is hot", "new plan (version 2): /c is hot", id="changed"),
        pytest.param(False, "keep: level", "plan kept (version 2): level", id="kept"),
        pytest.param(False, "", "plan kept (2)", id="no reason"),
    ],
)
def test_a_decision_is_one_sentence(changed: bool, why: str, sentence: str) -> None:
    assert decision(batch(0, [1], version=2, changed=changed, reason=why)) == sentence


def test_a_reason_does_not_repeat_the_decision() -> None:
    assert reason(batch(0, [1], reason="keep: still level")) == "still level"
    assert reason(batch(0, [1], reason="first plan")) == "first plan"
