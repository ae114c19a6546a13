"""Planning a join: which side of a hot key is split, and when splitting is of no use."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab import Histogram
from trimtab.errors import InvalidArgument
from trimtab.planners.join import SPLITTABLE, plan_join

FLAT = dict.fromkeys(range(100, 200), 10.0)


def counts(**rows: float) -> Histogram:
    return Histogram.from_counts({**FLAT, **{int(k[1:]): v for k, v in rows.items()}})


@pytest.mark.parametrize("how", list(SPLITTABLE))
def test_a_hot_key_is_split_on_a_side_that_the_kind_of_join_allows(how: str) -> None:
    hot_left = plan_join(counts(k1=5000.0), counts(k1=10.0), 8, how)
    hot_right = plan_join(counts(k1=10.0), counts(k1=5000.0), 8, how)
    may_left, may_right = SPLITTABLE[how]
    assert (1 in hot_left.split_left.tolist()) == may_left
    assert (1 in hot_right.split_right.tolist()) == may_right
    for made in (hot_left, hot_right):
        assert not np.intersect1d(made.split_left, made.split_right).size
        split = {*made.split_left.tolist(), *made.split_right.tolist()}
        many = {k for k in made.plan.keys.tolist() if len(made.plan.fragments(k)) > 1}
        assert split == many


def test_a_single_row_that_meets_a_hot_key_is_not_split_in_a_left_join() -> None:
    made = plan_join(counts(k1=1.0), counts(k1=100_000.0), 8, "left_outer")
    assert made.split_left.size == 0
    assert len(made.plan.fragments(1)) == 1


def test_the_product_of_both_sides_decides_the_fan_out() -> None:
    # 300 x 300 pairs are 90,000; the hundred flat keys make 100 pairs each, 10,000 in all.
    made = plan_join(counts(k1=300.0), counts(k1=300.0), 10)
    assert len(made.plan.fragments(1)) == 9
    assert made.max_over_mean < 1.1 < made.hash_max_over_mean


def test_level_sides_are_left_alone() -> None:
    made = plan_join(counts(), counts(), 4, "inner")
    assert made.split_left.size == made.split_right.size == 0


def test_an_empty_side_is_no_mistake() -> None:
    made = plan_join(Histogram.from_counts({}), counts(k1=500.0), 4)
    assert made.plan.lanes == 4


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="how must be one of"):
        plan_join(counts(), counts(), 4, "sideways")
