from __future__ import annotations

import csv

import pytest

from trimtab.errors import InvalidArgument, UnknownName
from trimtab.experiments import EXPERIMENTS, PAPERS, Finding, Setting, experiment, title_of
from trimtab.experiments.base import FAILS, HOLDS, IN_PART, Claim, Panel, judged


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_what_it_does(name: str) -> None:
    assert title_of(name).endswith(".")
    assert experiment(name).__module__.split(".")[-1] in PAPERS[name.split("-")[0]][1]


def test_an_unknown_experiment_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="prompt-10"):
        experiment("prompt-9")


@pytest.mark.parametrize(
    ("holds", "in_part", "verdict"),
    [(True, True, HOLDS), (False, True, IN_PART), (False, False, FAILS)],
)
def test_a_reason_is_told_unless_the_claim_holds(holds: bool, in_part: bool, verdict: str) -> None:
    claim = judged("says", "2x", "1x", holds=holds, in_part=in_part, reason="why")
    assert (claim.verdict, claim.reason) == (verdict, "" if holds else "why")


def test_rows_become_a_csv_file_with_all_columns() -> None:
    finding = Finding([{"a": 1, "b": "x,y"}, {"a": 2, "c": 0.5}], (), ())
    rows = list(csv.DictReader(finding.to_csv().splitlines()))
    assert rows == [{"a": "1", "b": "x,y", "c": ""}, {"a": "2", "b": "", "c": "0.5"}]


def test_a_panel_takes_its_own_rows() -> None:
    rows = [{"part": "a", "x": 1}, {"part": "b", "x": 2}]
    assert Panel("x", "y", "s", where={"part": "b"}).rows(rows) == [{"part": "b", "x": 2}]


def test_sizes_follow_the_scale_down_to_the_least() -> None:
    assert [Setting(scale).size(1000, 200) for scale in (2.0, 1.0, 0.1)] == [2000, 1000, 200]


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="scale"):
        Setting(scale=0.0)
    with pytest.raises(InvalidArgument, match="seeds"):
        Setting(seeds=0)
    with pytest.raises(InvalidArgument, match="verdict"):
        Claim("says", "2x", "1x", "perhaps")
