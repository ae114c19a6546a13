"""How many lanes a batch has: what is predicted, what is chosen, and that it stays chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trimtab.control.machines import LaneTimes, Machines
from trimtab.control.virtual_workers import choose_lanes, seconds, sizes_by_speed
from trimtab.errors import InvalidArgument

SLOTS = {"a": 4, "b": 4, "c": 4}


def cluster(slow: float, work: float = 18.0, start: float | None = 0.03) -> Machines:
    return Machines({"a": 1.0, "b": 1.0, "c": slow}, SLOTS, start, work=work)


def test_nothing_is_chosen_before_anything_was_measured() -> None:
    assert choose_lanes(12, Machines()).lanes == 12
    assert choose_lanes(12, Machines(), now=7).lanes == 7
    assert "no machine was measured" in choose_lanes(12, Machines()).reason
    kept = choose_lanes(2, Machines(), now=3, unequal=True, shares=[0.5, 0.5, 2.0])
    assert (kept.lanes, kept.shares) == (3, (0.5, 0.5, 2.0))
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


@pytest.mark.parametrize("start", [0.0, 0.03, 0.3, 0.6])
@pytest.mark.parametrize("slow", [1.5, 2.0, 3.3, 5.0])
def test_lanes_of_several_sizes_are_no_worse_than_equal_ones(slow: float, start: float) -> None:
    slowness = [1.0] * 8 + [slow] * 4
    known = cluster(slow, start=start)
    equal, either = choose_lanes(12, known), choose_lanes(12, known, unequal=True)
    took = [seconds(18.0, one.lanes, slowness, start, one.shares) for one in (equal, either)]
    assert took[1] <= 1.04 * took[0]
    assert equal.shares is None


def test_where_a_start_is_dear_lanes_of_two_sizes_are_much_better() -> None:
    slowness, known = [1.0] * 8 + [3.3] * 4, cluster(3.3, start=0.6)
    equal, either = choose_lanes(12, known, now=12), choose_lanes(12, known, now=12, unequal=True)
    assert either.lanes == 20
    assert either.shares is not None
    assert len(either.shares) == 20
    assert "small enough for the slowest" in either.reason
    took = [seconds(18.0, one.lanes, slowness, 0.6, one.shares) for one in (equal, either)]
    assert took[1] < 0.9 * took[0]


def test_lanes_of_several_sizes_end_together() -> None:
    slowness, start = [1.0, 1.0, 2.0, 4.0], 0.1
    free, sizes = [(0.0, one) for one in slowness], sizes_by_speed(10.0, slowness, start)
    assert sizes.sum() == pytest.approx(10.0)
    for size in sizes.tolist():
        at, slow = min(free)
        free.remove((at, slow))
        free.append((at + start + size * slow, slow))
    ends = [at for at, _ in free]
    assert max(ends) == pytest.approx(min(ends))
    # Nothing but the starts is lost: two on each slot but the slowest.
    assert max(ends) == pytest.approx(
        (10.0 + start * (2 + 2 + 2 / 2 + 1 / 4)) / (1 + 1 + 0.5 + 0.25)
    )


@pytest.mark.parametrize("slow", [100.0, 1e6])
def test_a_machine_that_hardly_runs_gets_little_but_not_nothing(slow: float) -> None:
    choice = choose_lanes(12, cluster(slow, work=3600.0), now=12, unequal=True)
    assert choice.shares is None or min(choice.shares) >= 0.01


def test_sizes_stay_and_go_like_numbers() -> None:
    known = cluster(3.3, start=0.6)
    first = choose_lanes(12, known, now=12, unequal=True)
    other = replace(known, slowness={"a": 3.2, "b": 1.0, "c": 1.05}, work=17.0)
    again = choose_lanes(12, other, now=first.lanes, unequal=True, shares=first.shares)
    assert (again.lanes, again.shares) == (first.lanes, first.shares)
    alike = cluster(1.0, start=0.6)
    back = choose_lanes(12, alike, now=first.lanes, unequal=True, shares=first.shares)
    assert (back.lanes, back.shares) == (12, None)


def test_many_slots_with_lanes_of_two_sizes() -> None:
    machines = {str(i): 3.3 if i % 3 == 0 else 1.0 for i in range(300)}
    known = Machines(machines, dict.fromkeys(machines, 4), 0.6, work=18.0 * 100)
    choice = choose_lanes(1200, known, now=1200, unequal=True)
    assert choice.lanes == 2000
    few = seconds(18.0, 20, [1.0] * 8 + [3.3] * 4, 0.6, [0.7] * 12 + [1.45] * 8)
    slowness = [machines[name] for name in machines for _ in range(4)]
    assert seconds(1800.0, 2000, slowness, 0.6, choice.shares) == pytest.approx(few, rel=0.1)


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
