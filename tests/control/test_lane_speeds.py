"""Speeds of lanes: smoothed, rounded, and all alike where they nearly are."""

from __future__ import annotations

import numpy as np

from trimtab.control.lane_speeds import LaneSpeeds
from trimtab.control.machines import LaneTimes


def times(seconds: list[float], rows: float = 100.0) -> LaneTimes:
    n = len(seconds)
    counts = np.where(np.isnan(seconds), 0.0, rows)
    return LaneTimes(counts, np.zeros(n), np.array(seconds), ("a/0",) * n)


def test_lanes_that_are_nearly_alike_are_alike() -> None:
    assert LaneSpeeds().after(times([1.0, 1.05, 1.1])).capacities().tolist() == [1, 1, 1]


def test_speeds_follow_a_change_and_noise_changes_nothing() -> None:
    known = LaneSpeeds()
    generator = np.random.default_rng(2)
    seen = set()
    for _ in range(30):
        noise = generator.uniform(0.99, 1.01, 4)
        known = known.after(times((np.array([1.0, 1.0, 1.0, 3.0]) * noise).tolist()))
        seen.add(tuple(known.capacities()))
    assert len(seen) <= 2
    for _ in range(4):
        known = known.after(times([1.0, 1.0, 3.0, 1.0]))
    assert known.capacities()[2] < 0.5 < 1.0 < known.capacities()[3]


def test_lanes_without_rows_keep_what_is_known() -> None:
    known = LaneSpeeds().after(times([1.0, 4.0]))
    assert known.after(times([1.0, np.nan])).costs[1] == known.costs[1]
    assert known.after(times([np.nan, np.nan])) == known
    fresh = LaneSpeeds().after(times([1.0, np.nan, 1.0]))
    assert fresh.capacities().tolist() == [1, 1, 1]


def test_another_number_of_lanes_starts_anew() -> None:
    known = LaneSpeeds().after(times([1.0, 4.0])).after(times([1.0, 1.0, 1.0]))
    assert known.lanes == 3
    assert known.capacities().tolist() == [1, 1, 1]
