"""How many lanes a batch has: what is predicted, what is chosen, and that it stays chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trimtab.control.machines import LaneTimes, Machines
from trimtab.control.virtual_workers import choose_lanes, seconds
from trimtab.errors import InvalidArgument

SLOTS = {"a": 4, "b": 4, "c": 4}


def cluster(slow: float, work: float = 18.0, start: float | None = 0.03) -> Machines:
    return Machines({"a": 1.0, "b": 1.0, "c": slow}, SLOTS, start, work=work)


def test_nothing_is_chosen_before_anything_was_measured() -> None:
    assert choose_lanes(12, Machines()).lanes == 12
    assert choose_lanes(12, Machines(), now=7).lanes == 7
    assert "no machine was measured" in choose_lanes(12, Machines()).reason
    with pytest.raises(InvalidArgument, match="slots"):
        choose_lanes(0, Machines())


@pytest.mark.parametrize("slow", [1.0, 1.05, 1.1])
def test_machines_that_are_alike_have_one_lane_per_slot(slow: float) -> None:
    choice = choose_lanes(12, cluster(slow), now=12)
    assert choice.lanes == 12
    assert "alike" in choice.reason


@pytest.mark.parametrize("slow", [1.5, 2.0, 3.3, 5.0])
def test_a_slow_machine_is_within_a_quarter_of_the_sum_of_speeds(slow: float) -> None:
    choice = choose_lanes(12, cluster(slow), now=12)
    bound = 18.0 / (8 + 4 / slow)
    assert seconds(18.0, choice.lanes, [1.0] * 8 + [slow] * 4, 0.03) <= 1.25 * bound
    assert "slowest c" in choice.reason


def test_where_a_start_is_dear_there_are_fewer_lanes() -> None:
    cheap = choose_lanes(12, cluster(1.5, start=0.01)).lanes
    dear = choose_lanes(12, cluster(1.5, start=1.5)).lanes
    assert dear < cheap


def test_many_slots_are_played_through_by_a_few() -> None:
    few = seconds(18.0, 28, [1.0] * 8 + [3.3] * 4, 0.03)
    many = seconds(18.0 * 100, 28 * 100, [1.0] * 800 + [3.3] * 400, 0.03)
    assert many == pytest.approx(few, rel=0.1)


def test_long_work_is_insured() -> None:
    assert choose_lanes(12, cluster(1.0, work=12 * 60.0), now=None).lanes == 48


@pytest.mark.parametrize("slow", [1.0, 1.2, 1.6, 3.3])
def test_what_is_chosen_stays_chosen(slow: float) -> None:
    now = choose_lanes(12, cluster(slow)).lanes
    generator = np.random.default_rng(3)
    for _ in range(100):
        # What is known of machines is smoothed.
        noise = generator.uniform(0.97, 1.03, 4)
        known = replace(
            cluster(slow, work=18.0 * noise[3]),
            slowness={"a": noise[0], "b": noise[1], "c": slow * noise[2]},
        )
        assert choose_lanes(12, known, now=now).lanes == now


def test_state_moves_only_for_more() -> None:
    known = cluster(1.4)
    assert choose_lanes(12, known, now=12).lanes > 12
    assert choose_lanes(12, known, now=12, least_gain=0.3).lanes == 12


def test_a_machine_that_has_left_or_come_is_counted_so() -> None:
    gone = replace(cluster(3.3), unseen={"c": 3})
    assert choose_lanes(8, gone, now=28).lanes == 8
    bound = 18.0 / (12 + 4 / 3.3)
    lanes = choose_lanes(16, cluster(3.3), now=28).lanes
    assert seconds(18.0, lanes, [1.0] * 12 + [3.3] * 4, 0.03) <= 1.25 * bound


def measured(lanes: int, slow: float, generator: np.random.Generator) -> LaneTimes:
    """Let Spark's scheduler work on equal lanes: four slots on each of three machines."""
    free = [(0.0, name) for name in "abc" for _ in range(4)]
    starts, ends, names = np.zeros(lanes), np.zeros(lanes), []
    for lane in range(lanes):
        at, name = min(free)
        free.remove((at, name))
        cost = 18.0 / lanes * generator.uniform(0.9, 1.1) * (slow if name == "c" else 1.0)
        starts[lane], ends[lane] = at, at + cost
        names.append(name)
        free.append((at + cost + 0.03, name))
    return LaneTimes(np.full(lanes, 18000 / lanes), starts, ends, tuple(names))


def test_the_loop_is_level_within_three_batches_of_a_change_and_rests() -> None:
    generator = np.random.default_rng(5)
    known, lanes, path, took = Machines(), 12, [], []
    for batch in range(24):
        slow = 3.3 if 4 <= batch < 14 else 1.0
        times = measured(lanes, slow, generator)
        took.append(float(times.ends.max()) / (18.0 / (8 + 4 / slow)))
        path.append(lanes)
        known = known.after(times)
        lanes = choose_lanes(12, known, now=lanes).lanes
    assert path[:5] == [12] * 5
    assert max(took[7:14]) <= 1.25
    assert len(set(path[7:14])) == 1
    # Back among equals, more lanes cost only their start: no reason to change again.
    assert max(took[17:]) <= 1.1
    assert len(set(path[17:])) == 1
