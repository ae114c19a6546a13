"""The table behind `Plan.route`: fragments at the seams of cuts and parts, crowded tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Plan
from trimtab._look_up import FREE, look_up
from trimtab.plan import CUT_SCALE


def lane_by_definition(plan: Plan, row: int) -> int:
    """Return the first fragment of the plan's only key whose cut is above the row's upper half."""
    point = row >> 32
    return next(
        int(lane)
        for lane, cut in zip(plan.lane_of.tolist(), plan.cuts.tolist(), strict=True)
        if point < cut
    )


@given(
    parts=st.lists(st.one_of(st.integers(1, 9), st.just(10**7)), min_size=2, max_size=70),
    nudges=st.lists(st.integers(-2, 2), min_size=1, max_size=20),
)
def test_rows_at_the_cuts_go_to_the_right_fragment(parts: list[int], nudges: list[int]) -> None:
    shares = [part / sum(parts) for part in parts]
    plan = Plan(len(parts), {5: list(enumerate(shares))})
    points = [0, CUT_SCALE - 1]
    points += [int(cut) + nudge for cut in plan.cuts.tolist() for nudge in nudges]
    points = [point for point in points if 0 <= point < CUT_SCALE]
    rows = np.array([(point << 32) + 7 for point in points], dtype=np.uint64)
    keys = np.full(rows.size, 5, dtype=np.uint64)
    expected = [lane_by_definition(plan, int(row)) for row in rows]
    assert plan.route(keys, rows).tolist() == expected


@pytest.mark.parametrize("lanes", [2, 1000])
def test_a_key_may_be_split_over_all_lanes(lanes: int) -> None:
    plan = Plan(lanes, {5: [(lane, 1 / lanes) for lane in range(lanes)]})
    rows = (np.arange(lanes, dtype=np.uint64) * np.uint64(CUT_SCALE // lanes + 1)) << np.uint64(32)
    got = plan.route(np.full(lanes, 5, dtype=np.uint64), rows)
    assert got.tolist() == [lane_by_definition(plan, int(row)) for row in rows]


def test_a_table_of_keys_that_share_their_place_still_finds_each() -> None:
    # Multiples of 2^58 fold to few places, so that they must be probed for one after the other.
    keys = np.arange(1, 64, dtype=np.uint64) << np.uint64(58)
    lanes = (np.arange(keys.size) % 7).astype(np.int32)
    plan = Plan.whole_keys(8, keys, lanes, hosts=[7])
    assert (plan.route(keys) == lanes).all()
    others = keys + np.uint64(1)
    assert (plan.route(others) == 7).all()


@pytest.mark.parametrize("keys", [0, 1, 102, 103, 5000])
def test_at_most_two_entries_in_five_are_taken(keys: int) -> None:
    plan = Plan(3, {k * k: k % 3 for k in range(keys)})
    table = look_up(plan.keys, plan.starts, plan.lane_of, plan.cuts)
    assert (table.codes != FREE).sum() == keys
    assert keys <= 0.4 * table.codes.size
    assert table.codes.size == 256 or table.codes.size < 5.1 * keys


def test_zero_is_a_key_like_any_other() -> None:
    assert Plan(3, {0: 2}, hosts=[1]).route(np.array([0, 1], dtype=np.uint64)).tolist() == [2, 1]
    assert Plan(3, {9: 2}, hosts=[1]).route(np.array([0, 9], dtype=np.uint64)).tolist() == [1, 2]
