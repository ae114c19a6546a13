from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trimtab.control.cost_model import Makespan, Operator, Placement, makespan, selection_rule
from trimtab.errors import InvalidArgument


def operator(**facts: Any) -> Operator:
    return Operator(**{"split_keys": True, "ship_seconds": 0.0, **facts})


def placement(loads: list[float], keys: list[float], widest: float = 2.0) -> Placement:
    return Placement(np.array(loads), np.array(keys), keys=4.0, widest=widest)


def test_whole_keys_cost_no_merge() -> None:
    dear = operator(row_seconds=2.0, merge_seconds=5.0, stage_seconds=9.0)
    assert makespan(placement([3.0, 1.0], [2.0, 2.0], widest=1.0), dear) == Makespan(6.0, 0.0)


def test_split_keys_cost_a_stage_and_a_merge() -> None:
    dear = operator(row_seconds=2.0, merge_seconds=5.0, stage_seconds=9.0)
    # Six partial results over two mergers.
    assert makespan(placement([3.0, 1.0], [3.0, 3.0]), dear) == Makespan(6.0, 9.0 + 5.0 * 3)


def test_one_merger_has_the_whole_aggregation_of_the_holistic_paper() -> None:
    holistic = operator(row_seconds=1.0, merge_seconds=1.0, mergers=1)
    assert makespan(placement([10.0, 8.0], [3.0, 3.0]), holistic).seconds == 10.0 + 6.0


def test_a_key_on_many_lanes_is_merged_in_one_place() -> None:
    free = operator(row_seconds=0.0, merge_seconds=1.0)
    assert makespan(placement([1.0] * 8, [1.0] * 8, widest=8.0), free).merge == 8.0


def test_the_lane_with_most_keys_may_be_the_slowest() -> None:
    by_key = operator(row_seconds=1.0, key_seconds=10.0)
    assert makespan(placement([9.0, 5.0], [1.0, 3.0], widest=1.0), by_key).lanes == 35.0


def test_rows_and_partial_results_have_to_be_sent() -> None:
    shipped = operator(row_seconds=1.0, ship_seconds=0.5, merge_seconds=2.0)
    assert makespan(placement([10.0, 8.0], [3.0, 3.0]), shipped) == Makespan(15.0, 2.5 * 3)


def test_what_is_combined_before_it_is_sent_sends_partial_results_only() -> None:
    shipped = operator(row_seconds=1.0, ship_seconds=0.5, merge_seconds=2.0)
    found = makespan(placement([10.0, 8.0], [3.0, 3.0]), shipped, combined=True)
    assert found == Makespan(10.0, 2.5 * 3)


def test_a_fast_lane_takes_more() -> None:
    found = makespan(
        placement([30.0, 10.0], [1.0, 1.0], 1.0), operator(row_seconds=1.0), capacities=[3, 1]
    )
    assert found.lanes == 20.0


def test_weights_in_seconds_count_as_they_are() -> None:
    found = makespan(
        placement([3.0, 1.0], [2.0, 2.0], 1.0), operator(row_seconds=7.0), unit="seconds"
    )
    assert found.lanes == 3.0


def test_eq3_compares_partial_results_with_the_heaviest_lane() -> None:
    assert placement([6.0, 1.0], [3.0, 3.0]).within_eq3
    assert not placement([5.0, 1.0], [3.0, 3.0]).within_eq3


def test_a_measured_placement_is_that_of_the_tuples() -> None:
    hashes = np.array([7, 7, 7, 8, 9], dtype=np.uint64)
    found = Placement.measured(hashes, [0, 1, 1, 1, 2], 4)
    assert found.loads.tolist() == [1, 3, 1, 0]
    assert found.cardinalities.tolist() == [1, 2, 1, 0]
    assert (found.keys, found.widest, found.replication) == (3, 2, 4 / 3)


@pytest.mark.parametrize(
    ("groups", "rule"),
    [
        pytest.param(4, "shuffle", id="TPC-H query 1 has four groups"),
        pytest.param(1_000, "cam", id="as many groups as rows per lane and lane"),
        pytest.param(500_000, "cam", id="groups are half of all rows"),
    ],
)
def test_the_holistic_selection_rule(groups: int, rule: str) -> None:
    assert selection_rule(groups, 1_000_000, 32) == rule


@pytest.mark.parametrize(
    ("field", "value"),
    [("row_seconds", -1.0), ("key_seconds", -1.0), ("merge_seconds", "cheap"), ("mergers", 0)],
)
def test_operators_are_checked(field: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=field):
        operator(**{field: value})


def test_combining_without_splitting_makes_no_sense() -> None:
    with pytest.raises(InvalidArgument, match="set split_keys=True"):
        Operator(combinable=True)
