"""What planners read from the plan in force."""

from __future__ import annotations

import numpy as np

from trimtab import Plan
from trimtab.planners._previous import hosts_before, lanes_before


def test_a_key_is_where_its_entry_its_largest_fragment_or_its_host_says() -> None:
    plan = Plan(
        4, {7: 2, 9: [(0, 0.2), (3, 0.5), (1, 0.3)], 8: [(1, 0.5), (0, 0.5)]}, hosts=[0, 1, 1]
    )
    keys = np.array([9, 7, 8, 3, 4, 2**64 - 1], dtype=np.uint64)
    assert lanes_before(plan, keys).tolist() == [3, 2, 1, 0, 1, [0, 1, 1][(2**64 - 1) % 3]]


def test_a_plan_without_keys_and_no_keys_at_all() -> None:
    assert lanes_before(Plan(3), np.array([4, 5], dtype=np.uint64)).tolist() == [1, 2]
    assert lanes_before(Plan(3, {1: 1}), np.empty(0, dtype=np.uint64)).size == 0


def test_more_hosts_leave_every_key_on_its_lane() -> None:
    plan = Plan(5, hosts=[4, 0, 2, 2, 1, 3, 0])
    hosts = hosts_before(plan, 50)
    assert hosts.size == 56
    keys = np.random.default_rng(3).integers(0, 2**64, 1000, dtype=np.uint64)
    assert (Plan(5, hosts=hosts).route(keys) == plan.route(keys)).all()
    assert hosts_before(plan, 7).tolist() == plan.hosts.tolist()
