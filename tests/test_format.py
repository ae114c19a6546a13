"""Heads of what is written: what is foreign, damaged or of another version is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab._format import Format
from trimtab.errors import CorruptState

PLANS = Format("trimtab.plan", 3, "a plan")


def test_what_was_written_passes_after_a_trip_through_json() -> None:
    PLANS.check(json.loads(json.dumps({**PLANS.head(), "lanes": 4})), "plan.json")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        pytest.param(
            [1, 2],
            "plan.json is damaged: it holds 'list' without a format, not a plan",
            id="something else than fields",
        ),
        pytest.param(
            {"version": 3},
            "plan.json is damaged: it holds 'dict' without a format, not a plan",
            id="no head",
        ),
        pytest.param(
            {"format": "trimtab.state", "version": 3},
            "plan.json holds 'trimtab.state', not a plan",
            id="another format",
        ),
        pytest.param(
            {"format": "trimtab.plan"},
            "plan.json is damaged: it has version None",
            id="no version",
        ),
        pytest.param(
            {"format": "trimtab.plan", "version": "3"},
            "plan.json is damaged: it has version '3'",
            id="a version in words",
        ),
        pytest.param(
            {"format": "trimtab.plan", "version": 4},
            "plan.json has version 4; this Trimtab reads version 3; upgrade Trimtab, or use the "
            "one that wrote it",
            id="a newer version",
        ),
        pytest.param(
            {"format": "trimtab.plan", "version": 2},
            "plan.json has version 2; this Trimtab reads version 3; upgrade Trimtab, or use the "
            "one that wrote it",
            id="an older version",
        ),
    ],
)
def test_everything_else_is_refused_in_one_sentence(data: Any, sentence: str) -> None:
    with pytest.raises(CorruptState) as refusal:
        PLANS.check(data, "plan.json")
    assert str(refusal.value) == sentence


def test_a_sentence_stays_short_whatever_the_file_holds() -> None:
    with pytest.raises(CorruptState) as refusal:
        PLANS.check({"format": "x" * 10_000}, "plan.json")
    assert len(str(refusal.value)) < 200
