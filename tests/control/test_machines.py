"""What lane times tell of machines: speeds, slots, starts, and why a lane straggles."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.control.machines import FORGOTTEN, LaneTimes, Machines, stragglers
from trimtab.errors import CorruptState, InvalidArgument


def times(
    rows: list[float],
    seconds: list[float],
    executors: list[str],
    starts: list[float] | None = None,
) -> LaneTimes:
    began = np.array(starts if starts is not None else [0.0] * len(rows))
    return LaneTimes(np.array(rows), began, began + np.array(seconds), tuple(executors))


def three_machines(slow: float = 1.0, lanes: int = 12, seed: int = 1) -> LaneTimes:
    """Three machines of four slots; what rows cost differs by a fifth from lane to lane."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(800, 1200, lanes).astype(float)
    names = [f"10.0.0.{i % 3}/{i % 3}" for i in range(lanes)]
    cost = 1e-3 * generator.uniform(0.8, 1.2, lanes)
    cost[2::3] *= slow
    return times(rows.tolist(), (rows * cost).tolist(), names)


def test_every_lane_has_all_figures() -> None:
    with pytest.raises(InvalidArgument, match="one figure per lane"):
        LaneTimes(np.zeros(2), np.zeros(2), np.zeros(3), ("a", "b"))


@pytest.mark.parametrize("seed", range(20))
def test_a_slow_machine_is_found_whatever_its_keys_cost(seed: int) -> None:
    slowness = three_machines(slow=3.3, seed=seed).slowness()
    assert max(slowness, key=lambda name: slowness[name]) == "10.0.0.2/2"
    assert 3.3 / 1.5 < slowness["10.0.0.2/2"] < 3.3 * 1.5
    assert all(0.6 < slowness[name] < 1.6 for name in ("10.0.0.0/0", "10.0.0.1/1"))


def test_one_lane_of_costly_keys_does_not_make_a_machine_slow() -> None:
    found = times([100] * 6, [1, 1, 9, 1, 1, 1], ["a", "a", "b", "b", "b", "c"])
    assert found.slowness() == {"a": 1.0, "b": 1.0, "c": 1.0}


def test_lanes_that_are_meant_to_be_larger_are_no_stragglers() -> None:
    found = times(
        [50] * 4 + [150] * 2, [0.5] * 3 + [1.7] + [1.5] * 2, ["a", "a", "a", "b", "a", "a"]
    )
    assert stragglers(found)[0].lane == 3
    assert {one.lane for one in stragglers(found)} == {3, 4, 5}
    (slow,) = stragglers(found, [0.6] * 4 + [1.8] * 2)
    assert (slow.lane, slow.cause, slow.seconds) == (3, "slow machine", 1.7)


def test_slots_are_lanes_at_once() -> None:
    found = times([1] * 5, [1] * 5, ["a"] * 4 + ["b"], starts=[0, 0.5, 1.0, 1.5, 0])
    assert found.slots() == {"a": 2, "b": 1}


def test_seconds_between_tasks_are_those_that_a_slot_waited() -> None:
    found = times([1] * 4, [1] * 4, ["a"] * 4, starts=[0, 0.1, 1.03, 1.13])
    assert found.task_seconds() == pytest.approx(0.03)
    assert times([1, 1], [1, 1], ["a", "a"]).task_seconds() is None


def test_lanes_that_nobody_measured_are_left_out() -> None:
    found = LaneTimes(
        np.array([5.0, 5.0, 5.0]),
        np.array([0.0, np.nan, 0.0]),
        np.array([1.0, np.nan, 1.0]),
        ("a", "", ""),
    )
    assert found.measured.tolist() == [True, False, False]
    assert found.slowness() == {"a": 1.0}
    assert stragglers(found) == []


@pytest.mark.parametrize(
    ("rows", "seconds", "executors", "cause"),
    [
        pytest.param([100, 100, 300], [1, 1, 3], "abc", "hot key", id="more rows: a hot key"),
        pytest.param([100] * 3, [1, 1, 3], "abc", "slow machine", id="a machine of its own"),
        pytest.param([100] * 4, [1, 3, 1, 1], "aabb", "costly rows", id="rows that take longer"),
        pytest.param(
            [100, 100, 150], [1, 1, 4.5], "abc", "slow machine", id="both: what weighs more"
        ),
    ],
)
def test_a_straggler_has_a_cause(
    rows: list[float], seconds: list[float], executors: str, cause: str
) -> None:
    (first, *_) = stragglers(times(rows, seconds, list(executors)))
    assert first.lane == int(np.argmax(seconds))
    assert first.cause == cause


def test_nobody_waits_for_lanes_that_are_level_or_quick() -> None:
    assert stragglers(times([100] * 3, [1, 1, 1.2], list("abc"))) == []
    assert stragglers(times([100] * 3, [0.01, 0.01, 0.04], list("abc"))) == []


def test_what_is_known_follows_a_change_in_three_batches() -> None:
    known = Machines()
    for _ in range(5):
        known = known.after(three_machines(slow=3.3))
    assert known.slowness["10.0.0.2/2"] > 2.5
    for _ in range(3):
        known = known.after(three_machines())
    assert known.slowness["10.0.0.2/2"] < 1.3
    assert known.slots == {"10.0.0.0/0": 4, "10.0.0.1/1": 4, "10.0.0.2/2": 4}


def test_a_machine_that_has_become_slow_is_known_at_once_and_noise_is_smoothed() -> None:
    one, other = "10.0.0.2/2", "10.0.0.0/0"
    known = Machines().after(three_machines()).after(three_machines(slow=3.3))
    assert known.slowness[one] > 2.5
    noisy = Machines().after(times([1] * 3, [1.0, 1.0, 1.4], [other, "b", one]))
    assert noisy.slowness[one] == pytest.approx(1.4**0.6)


def test_a_machine_that_has_left_is_forgotten() -> None:
    known = Machines().after(times([1, 1], [1, 3], ["a", "b"]))
    for _ in range(FORGOTTEN):
        known = known.after(times([1], [1], ["a"]))
        assert "b" in known.slowness
    known = known.after(times([1], [1], ["a"]))
    assert set(known.slowness) == set(known.slots) == set(known.unseen) == {"a"}


def test_what_is_known_comes_back() -> None:
    known = Machines().after(times([1] * 3, [1, 1, 2], ["a", "a", "b"], starts=[0, 1.1, 0]))
    assert Machines.restore(known.state()) == known
    with pytest.raises(CorruptState, match="machines is damaged"):
        Machines.restore({"slowness": {}})
