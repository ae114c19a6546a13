"""A route by itself: what it expects and how it is recorded, without a Spark session."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab import Histogram, Plan, hash_keys, router
from trimtab import state as states
from trimtab.errors import CorruptState
from trimtab.spark.routing.route import Route

HOT = Histogram.from_counts({1: 600.0, 2: 100.0}, total=1000.0, distinct=40)


def test_a_plan_is_read_back_as_it_was_recorded() -> None:
    route = Route(4, "trim", True, Plan(4, {1: [(0, 0.5), (1, 0.5)]}), None, HOT)
    again = Route.from_record(states.parse(states.dump(route.to_record())), "plans/0.json")
    assert (again.lanes, again.name, again.splits_keys) == (4, "trim", True)
    assert again.plan == route.plan


def test_a_router_is_read_back_with_what_it_has_learned() -> None:
    learned = router("pkg", lanes=4, seed=3)
    learned.route(hash_keys(list("abcabcaaa")))
    route = Route(4, "pkg", True, None, learned)
    again = Route.from_record(states.parse(states.dump(route.to_record())), "plans/0.json")
    assert again.router is not None
    hashes = np.arange(50, dtype=np.uint64)
    assert np.array_equal(again.router.route(hashes), learned.route(hashes))


@pytest.mark.parametrize("record", [{}, {"lanes": 4, "name": "x", "splits_keys": True, "plan": 5}])
def test_a_damaged_record_is_refused_by_name(record: dict[str, object]) -> None:
    with pytest.raises(CorruptState, match=r"plans/0\.json"):
        Route.from_record(record, "plans/0.json")


def test_the_gain_is_against_plain_hashing() -> None:
    level = Plan(4, {1: [(lane, 0.25) for lane in range(4)]})
    assert Route(4, "trim", True, level, None, HOT).gain() > 2
    assert Route(4, "hash", False, Plan(4), None, HOT).gain() == pytest.approx(1.0)
    assert Route(4, "pkg", True, None, router("pkg", lanes=4)).gain() == 1.0


def test_it_is_explained_in_words() -> None:
    said = Route(4, "trim", False, Plan(4, {1: 0}), None, HOT).explain("group_by", shuffles=1)
    assert "partitioner 'trim' on 4 lanes, 1 shuffle of the rows, keys whole" in said
    assert "expected max/mean" in said
    routed = Route(4, "pkg", True, None, router("pkg", lanes=4)).explain("repartition", shuffles=2)
    assert "nothing is known beforehand" in routed
    given = Route(4, "plan", False, Plan(4)).explain("repartition", shuffles=1)
    assert "nothing was counted" in given
