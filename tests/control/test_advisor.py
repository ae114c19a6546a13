from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from trimtab import Histogram, hash_keys
from trimtab.control.advisor import Advisor
from trimtab.control.cost_model import Operator, Placement, makespan, selection_rule
from trimtab.errors import InvalidArgument, UnknownName
from trimtab.partitioners import class_of, known, make
from trimtab.planners import Planner
from trimtab.routers import Router
from trimtab.workloads import zipf_ids

SPLIT = Operator(split_keys=True)
WHOLE = Operator(split_keys=False)
HOLISTIC = ("hash", "shuffle", "pkg", "cm", "am", "cam", "lm")
"""The partitioners of the Holistic paper."""


def stream(z: float, rows: int = 300_000, keys: int = 30_000) -> Any:
    return hash_keys(zipf_ids(rows, keys, z, seed=3))


def zipf(z: float, rows: int = 300_000, keys: int = 30_000) -> Histogram:
    return Histogram.from_hashes(stream(z, rows, keys))


def even(rows: float, groups: int) -> Histogram:
    hashes = hash_keys(np.arange(groups))
    return Histogram.from_counts((hashes, np.full(groups, rows / groups)))


def complexity(name: str) -> int:
    return class_of(name).complexity


def test_the_simplest_come_first() -> None:
    assert sorted(known(), key=complexity) == [
        *("hash", "shuffle", "time"),  # nothing to count
        *("kip", "scan", "redist", "readj", "mixed", "trim", "prompt"),  # a table, by its length
        *("ch", "potc", "pkg", "flexsp", "bounded-ch", "porc"),  # a counter per lane
        *("am", "cam", "cm", "lm", "cg"),  # a memory of keys
        *("w-choices", "d-choices", "fish"),  # counts of keys
        *("dagreedy", "dalton"),  # rules that learn
    ]
    assert len(set(map(complexity, known()))) == len(known())


SCENARIOS: list[Any] = [
    pytest.param(
        SPLIT,
        16,
        even(1e6, 200_000),
        {"hash"},
        "save",
        id="without skew it is left to Spark's hash",
    ),
    pytest.param(
        WHOLE, 16, even(1e6, 200_000), {"hash"}, "save", id="so it is where keys must stay whole"
    ),
    pytest.param(
        Operator(split_keys=True, combinable=True),
        64,
        zipf(1.5),
        {"hash"},
        "map side",
        id="what combines before the shuffle is left to Spark",
    ),
    pytest.param(
        SPLIT,
        64,
        zipf(1.0),
        {"trim", "prompt"},
        "times as long",
        id="hot keys are split if they may",
    ),
    pytest.param(
        SPLIT, 64, zipf(2.0), {"shuffle"}, "times as long", id="few keys: round robin is as good"
    ),
    pytest.param(
        WHOLE, 16, zipf(0.9), {"kip", "trim"}, "times as long", id="whole hot keys get room"
    ),
    pytest.param(
        Operator(split_keys=True, merge_seconds=1e-3),
        16,
        zipf(0.9),
        {"kip", "trim"},
        "times as long",
        id="a dear merge keeps keys whole",
    ),
    pytest.param(
        Operator(split_keys=True, merge_seconds=1e-6, stage_seconds=10.0),
        16,
        zipf(0.9),
        {"kip", "trim"},
        "times as long",
        id="so does a dear second stage",
    ),
    pytest.param(
        Operator(split_keys=True, merge_seconds=0.0),
        16,
        zipf(1.5),
        {"shuffle"},
        "times as long",
        id="where nothing is merged round robin is the simplest",
    ),
    pytest.param(
        WHOLE,
        8,
        Histogram.from_counts({3: 1e6}),
        {"hash"},
        "100.0%",
        id="a single whole key cannot be helped",
    ),
]


@pytest.mark.parametrize(("operator", "lanes", "histogram", "expected", "words"), SCENARIOS)
def test_recommendation(
    operator: Operator, lanes: int, histogram: Histogram, expected: set[str], words: str
) -> None:
    advice = Advisor(operator, lanes).advise(histogram)
    assert advice.recommended in expected
    assert words in advice.reason
    assert {row.name for row in advice.table} == set(known())
    # Nothing simpler is as good: ties go to the simpler.
    best = advice[advice.recommended]
    fastest = min(row.makespan for row in advice.table if row.allowed)
    for row in advice.table:
        if row.allowed and complexity(row.name) < complexity(best.name):
            assert row.makespan > fastest * 1.02
    assert best.makespan <= fastest * 1.02


@pytest.mark.parametrize("groups", [4, 10, 40])
def test_few_groups_go_to_shuffle_as_the_holistic_paper_says(groups: int) -> None:
    histogram = zipf(0.8, rows=100_000, keys=groups)
    operator = Operator(split_keys=True, row_seconds=1.0, merge_seconds=1.0, mergers=1)
    assert selection_rule(groups, 100_000, 32) == "shuffle"
    for rule in ("makespan", "holistic"):
        advice = Advisor(operator, 32, partitioners=HOLISTIC, rule=rule).advise(histogram)
        assert advice.recommended == "shuffle"


@pytest.mark.parametrize("keys", [30_000, 300_000])
@pytest.mark.parametrize("z", [0.6, 0.8])
def test_many_groups_go_to_am_or_cam_as_the_holistic_paper_says(keys: int, z: float) -> None:
    histogram = zipf(z, rows=400_000, keys=keys)
    operator = Operator(split_keys=True, row_seconds=1.0, merge_seconds=1.0, mergers=1)
    assert selection_rule(histogram.distinct, 400_000, 32) == "cam"
    for rule in ("makespan", "holistic"):
        advice = Advisor(operator, 32, partitioners=HOLISTIC, rule=rule).advise(histogram)
        assert advice.recommended in ("am", "cam")
        assert not advice["shuffle"].within_eq3


@pytest.mark.parametrize("z", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("name", known())
def test_predictions_come_true(name: str, z: float) -> None:
    lanes, hashes = 32, stream(z)
    row = Advisor(SPLIT, lanes, partitioners=[name]).advise(Histogram.from_hashes(hashes))[name]
    made = make(name, lanes, interval=hashes.size)
    if isinstance(made, Planner):
        counted = Histogram.from_hashes(hashes, top=8 * lanes, hosts=made.hosts or lanes)
        real = made.plan(counted).route(hashes)
    else:
        made.route(hashes)
        made.advance()
        real = made.route(hashes)
    found = makespan(Placement.measured(hashes, real, lanes), SPLIT).seconds
    if made.prediction_note:
        assert row.makespan > 0.9 * found
        assert "likely too high" in row.note
    elif isinstance(made, Router) and not (made.ignores_keys or made.same_lane_in_every_task):
        assert row.makespan == pytest.approx(found, rel=0.4)
    else:
        assert row.makespan == pytest.approx(found, rel=0.03)


def test_what_the_operator_forbids_is_predicted_but_not_recommended() -> None:
    advice = Advisor(WHOLE, 16).advise(zipf(1.5))
    assert not advice["pkg"].allowed
    assert "does not allow" in advice["pkg"].note
    assert advice["pkg"].makespan < advice[advice.recommended].makespan
    assert advice["trim"].allowed  # asked for whole keys, it gives whole keys
    assert advice["trim"].replication == 1.0


def test_the_table_is_sorted_allowed_first_then_by_time() -> None:
    rows = Advisor(WHOLE, 16).advise(zipf(1.0)).table
    order = [(not row.allowed, row.makespan) for row in rows]
    assert order == sorted(order)


def test_advice_is_deterministic_and_goes_through_json() -> None:
    histogram = zipf(1.2)
    first, second = (Advisor(SPLIT, 16, seed=5).advise(histogram) for _ in range(2))
    assert first == second
    data = json.loads(json.dumps(first.to_dict()))
    assert data["recommended"] == first.recommended
    assert {row["name"] for row in data["table"]} == set(known())


def test_explain_shows_the_reason_and_the_best() -> None:
    advice = Advisor(SPLIT, 16).advise(zipf(1.2))
    lines = advice.explain(most=3).splitlines()
    assert lines[0] == f"{advice.recommended}: {advice.reason}"
    assert lines[2].startswith(advice.table[0].name)
    assert len(lines) == 5


def test_a_wide_margin_leaves_more_to_hash() -> None:
    histogram = zipf(0.9)
    assert Advisor(WHOLE, 16).advise(histogram).recommended != "hash"
    assert Advisor(WHOLE, 16, margin=100.0).advise(histogram).recommended == "hash"


def test_a_slow_lane_is_given_less_by_those_that_know_of_it() -> None:
    advice = Advisor(SPLIT, 4, capacities=[1, 1, 1, 0.2]).advise(zipf(0.5))
    assert advice["prompt"].max_over_mean < 1.05 < advice["shuffle"].max_over_mean
    assert advice.recommended in ("kip", "trim", "prompt")


HOSTILE = [
    pytest.param(Histogram.from_counts({7: 1.0}), id="one row"),
    pytest.param(Histogram.from_counts({7: 0.0, 8: 3.0}), id="a key of no weight"),
    pytest.param(Histogram.from_counts({}, total=1000.0), id="a tail and nothing else"),
    pytest.param(Histogram.from_counts({}, total=1e12, distinct=10**9), id="a billion keys unseen"),
    pytest.param(Histogram.from_counts({2**64 - 1: 5.0, 2**63: 4.0}), id="the highest hashes"),
    pytest.param(zipf(1.0, rows=2000, keys=50), id="few keys"),
    pytest.param(
        Histogram.from_counts({1: 0.5, 2: 0.1}, total=1.0, distinct=99, unit="seconds"),
        id="weights in seconds",
    ),
    pytest.param(zipf(1.0, rows=2000, keys=50).top(3), id="a short head"),
]


@pytest.mark.parametrize("histogram", HOSTILE)
@pytest.mark.parametrize("lanes", [1, 2, 100])
def test_hostile_histograms_are_answered(histogram: Histogram, lanes: int) -> None:
    for operator in (SPLIT, WHOLE):
        advice = Advisor(operator, lanes).advise(histogram)
        assert advice[advice.recommended].allowed
        for row in advice.table:
            assert np.isfinite([row.makespan, row.max_over_mean, row.replication]).all()
            assert 1 - 1e-9 <= row.replication <= lanes + 1e-9
            assert 1 - 1e-9 <= row.max_over_mean <= lanes + 1e-9


def test_no_weight_is_left_to_hash() -> None:
    advice = Advisor(SPLIT, 4).advise(Histogram.from_counts({}))
    assert (advice.recommended, advice.table) == ("hash", ())


def test_mistakes_are_named() -> None:
    with pytest.raises(UnknownName, match="unknown partitioner 'magic'; known partitioners: am"):
        Advisor(SPLIT, 4, partitioners=["magic"])
    with pytest.raises(InvalidArgument, match="at least one"):
        Advisor(SPLIT, 4, partitioners=[])
    with pytest.raises(InvalidArgument, match="rule must be one of"):
        Advisor(SPLIT, 4, rule="best")
    with pytest.raises(InvalidArgument, match="Operator"):
        Advisor("sum", 4)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="margin"):
        Advisor(SPLIT, 4, margin=-1.0)
    with pytest.raises(InvalidArgument, match="Histogram"):
        Advisor(SPLIT, 4).advise({1: 2})  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="keeps keys whole"):
        Advisor(WHOLE, 4, partitioners=["shuffle"]).advise(zipf(1.0, 1000, 10))
    with pytest.raises(UnknownName, match="partitioner 'kip'"):
        Advisor(SPLIT, 4, partitioners=["hash"]).advise(zipf(1.0, 1000, 10))["kip"]


def test_seconds_are_given_only_where_times_were_measured() -> None:
    hot = Histogram.from_counts({1: 5e5, 2: 1e5}, total=1e6, distinct=50_000)
    guessed = Advisor(Operator(), lanes=16).advise(hot)
    assert " s " not in guessed.reason
    assert "time/best" in guessed.explain()
    timed = Histogram.from_counts({1: 50.0, 2: 10.0}, total=100.0, distinct=50, unit="seconds")
    learned = Advisor(Operator(), lanes=16).advise(timed)
    assert " s expected" in learned.reason
    assert "seconds" in learned.explain()
    assert " s expected" in Advisor(Operator(row_seconds=1e-3), lanes=16).advise(hot).reason


def test_the_hash_in_use_is_compared_with() -> None:
    hot = Histogram.from_counts({1: 400.0, 2: 400.0}, total=1000.0, distinct=100)
    loads = np.array([700.0, 100.0, 100.0, 100.0])
    advice = Advisor(Operator(), lanes=4).advise(hot, loads)
    assert advice["hash"].max_over_mean == 2.8
    best = advice[advice.recommended].max_over_mean
    assert f"a hash takes {2.8 / best:.3g} times as long" in advice.reason
    with pytest.raises(InvalidArgument, match="hash_loads must be one number per lane"):
        Advisor(Operator(), lanes=8).advise(hot, loads)
