"""A short part of `make chaos`: drivers, workers and executors are killed, nothing changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chaos.sailing import Logbook, WentWrong, compare, sail
from tests.chaos.schedule import EXECUTORS, MOMENTS, TIME, WORKERS, Leg, Voyage, voyage
from tests.spark.stream.crash.queries import QUERIES, moments_of


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("points", "last_kills"),
    [
        pytest.param(
            {"merging": ("routers gathered", 0), "table": ("writing state", 0)},
            4,
            id="windows and groups",
        ),
        pytest.param(
            {"states": ("panes written", 1), "totals": ("cleaned up", 1)}, 8, id="state per key"
        ),
    ],
)
def test_a_voyage_ends_as_it_would_have_undisturbed(
    points: dict[str, tuple[str, int]], last_kills: int, tmp_path: Path
) -> None:
    legs = (
        Leg(MOMENTS, points, 0.0),
        Leg(TIME, dict.fromkeys(points, ("", 0)), 2.5),
        Leg(EXECUTORS, {}, 1.0, last_kills),
    )
    book = Logbook(tmp_path / "logbook.jsonl")
    sail(Voyage(1, 0, tuple(points), legs), tmp_path, book, lambda line: None)
    assert book.outcome(0) == "equal"
    assert book.kills() >= last_kills
    assert sorted(book.lines[0]["reached"]) == [[name, *points[name]] for name in points]


def test_voyages_have_every_query_and_every_kind_of_kill() -> None:
    made = [voyage(5, number) for number in range(100)]
    assert made == [voyage(5, number) for number in range(100)]
    for name in QUERIES:
        mine = [leg.points[name][0] for one in made for leg in one.legs if name in leg.points]
        assert set(moments_of(name)) - set(mine) == set(), name
    assert {leg.kind for one in made for leg in one.legs} == {MOMENTS, TIME, WORKERS, EXECUTORS}


def test_voyages_can_be_of_some_queries_only() -> None:
    made = [voyage(5, number, ("states", "totals")) for number in range(20)]
    assert {one.queries for one in made} == {("states", "totals")}
    assert made[3].line == "make chaos SEED=5 VOYAGE=3 ONLY=states,totals"
    assert voyage(5, 3).line == "make chaos SEED=5 VOYAGE=3"


def test_a_logbook_goes_on_after_a_line_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "logbook.jsonl"
    book = Logbook(path)
    book.note(voyage=0, leg=0, kind=TIME, kills=1)
    book.note(voyage=0, leg=1, kind=WORKERS, kills=6)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"voyage": 0, "outc')
    again = Logbook(path)
    assert (again.legs_done(0), again.kills(), again.outcome(0)) == (2, 7, None)
    again.note(voyage=0, outcome="equal")
    assert Logbook(path).outcome(0) == "equal"


@pytest.mark.parametrize("word", ["results", "facts"])
def test_a_result_too_many_or_too_few_is_seen(word: str, tmp_path: Path) -> None:
    expected = {"apply": {"results": ["a", "b"], "facts": [[0], [1]]}}
    made = Voyage(1, 0, ("apply",), ())
    for change in (lambda rows: rows[:-1], lambda rows: [*rows, rows[0]]):
        found = {"apply": {**expected["apply"], word: change(expected["apply"][word])}}
        (tmp_path / "found.json").write_text(json.dumps({"kills": 0, "found": found}))
        with pytest.raises(WentWrong, match=f"{word} of 'apply' differ"):
            compare(made, tmp_path, expected)
