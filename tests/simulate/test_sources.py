from __future__ import annotations

import numpy as np
import pytest

from trimtab import Plan, hash_keys, planner, router
from trimtab.control import QTableReducer, Repartitioner
from trimtab.errors import InvalidArgument
from trimtab.metrics import max_over_mean
from trimtab.simulate import Sources
from trimtab.workloads import zipf_ids

KEYS = hash_keys(zipf_ids(120_000, 2_000, 1.4, seed=3)).reshape(12, 10_000)


def test_each_source_has_a_router_of_its_own() -> None:
    both = Sources([router("pkg", lanes=4), router("pkg", lanes=4)])
    lanes = both.route(KEYS[0])
    alone = router("pkg", lanes=4)
    assert lanes[::2].tolist() == alone.route(KEYS[0][::2].copy()).tolist()


def test_a_planner_sees_the_slot_before_or_the_slot_itself() -> None:
    def ratio(exact: bool) -> float:
        sources = Sources(planner("prompt", lanes=8), exact=exact)
        return max_over_mean(np.bincount(sources.route(KEYS[0]), minlength=8))

    assert ratio(exact=True) < 1.1
    assert ratio(exact=False) == max_over_mean(np.bincount(Plan(8).route(KEYS[0]), minlength=8))


def test_moves_are_told_once() -> None:
    sources = Sources(planner("kip", lanes=8), repartitioner=Repartitioner())
    sources.route(KEYS[0])
    sources.end_slot(KEYS[0])
    assert sources.moved() > 0.05
    assert sources.moved() == 0.0


@pytest.mark.parametrize("answer_slots", [0, 2])
def test_cooperating_daltons_know_what_the_others_have_seen(answer_slots: int) -> None:
    learners = [
        router("dalton", lanes=8, stats_window=2_500, cooperate=True, seed=s) for s in range(4)
    ]
    sources = Sources(
        learners, cooperation=QTableReducer(8, 4, interval=2_500), answer_slots=answer_slots
    )
    for slot in KEYS:
        sources.route(slot)
        sources.end_slot(slot, advance=False)
    hot = [set(learner.hot_keys().tolist()) for learner in learners]  # type: ignore[attr-defined]
    assert hot[0]
    assert all(each == hot[0] for each in hot)


def test_a_batch_that_is_counted_first_is_told_to_routers_that_heed_counts() -> None:
    def ratio(exact: bool) -> float:
        sources = Sources(router("dalton", lanes=8, seed=1), exact=exact)
        return max_over_mean(np.bincount(sources.route(KEYS[0]), minlength=8))

    assert ratio(exact=True) < 0.8 * ratio(exact=False)


def test_an_answer_that_takes_long_makes_rounds_rarer() -> None:
    def interval(answer_slots: int) -> int:
        learners = [
            router("dalton", lanes=8, stats_window=2_500, cooperate=True, seed=s) for s in range(4)
        ]
        reducer = QTableReducer(8, 4, interval=2_500, shortest=2_500)
        sources = Sources(learners, cooperation=reducer, answer_slots=answer_slots)
        for slot in KEYS:
            sources.route(slot)
            sources.end_slot(slot, advance=False)
        return reducer.interval

    assert interval(0) == 2_500
    assert interval(3) > 2_500


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"partitioner": []}, "one router per source"),
        ({"partitioner": "hash"}, "one router per source"),
        ({"partitioner": [router("hash", lanes=2), router("pkg", lanes=2)]}, "of one kind"),
        ({"partitioner": Plan(2), "repartitioner": Repartitioner()}, "give a planner"),
        ({"partitioner": router("dalton", lanes=2, cooperate=True)}, "which need it"),
        ({"partitioner": Plan(2), "cooperation": QTableReducer(2, 1, 100)}, "cooperate=True"),
    ],
    ids=["none", "a name", "two kinds", "no planner", "alone", "no dalton"],
)
def test_mistakes_are_named(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Sources(given.pop("partitioner"), **given)  # type: ignore[arg-type]
