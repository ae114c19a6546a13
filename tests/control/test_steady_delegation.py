"""Delegation that rests: the paper's own setting, noise, and machines that change."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.routers.streams import zipf
from trimtab.control.delegation import Delegation
from trimtab.control.steady_delegation import SteadyDelegation
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.cg import CgRouter

LANES, VIRTUAL, PER_SLOT, SLOTS = 10, 10, 20_000, 40


def speeds(weak: slice, share: float = 0.4) -> NDArray[np.float64]:
    made = np.ones(LANES)
    made[weak] = share
    return made


def path(
    virtual: int = VIRTUAL, steady: bool = True, noise: float = 0.05
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Run `cg` for two phases of time slots, other lanes weak in each; moves, and max/mean."""
    stream = zipf(2 * SLOTS * PER_SLOT, 10_000, 1.0, seed=5)
    generator = np.random.default_rng(7)
    router = CgRouter(LANES, virtual=virtual, seed=1)
    loop, plain = SteadyDelegation(LANES), Delegation()
    moves, level = [], []
    for slot in range(2 * SLOTS):
        speed = speeds(slice(0, 3) if slot < SLOTS else slice(7, 10))
        rows = np.bincount(
            router.route(stream[slot * PER_SLOT : (slot + 1) * PER_SLOT]), minlength=LANES
        )
        router.advance()
        seconds = rows / speed * generator.uniform(1 - noise, 1 + noise, LANES)
        # What the sum of speeds allows.
        level.append(float((rows / speed).max() / (rows.sum() / speed.sum())))
        workers = router.virtual_workers()
        if steady:
            signals = loop.signals(seconds, workers)
        else:
            signals = plain.signals(0.8 * seconds / seconds.mean())
        moves.append(router.delegate(signals))
    return np.array(moves), np.array(level)


def test_at_the_papers_setting_it_comes_to_rest_and_is_level() -> None:
    moves, level = path()
    for phase in (slice(0, SLOTS), slice(SLOTS, 2 * SLOTS)):
        # Of ten virtual workers a weak lane can carry five: 15 hand-overs, three in a slot; after
        # the change it is 21, since the other lanes had got more.
        assert moves[phase][:8].sum() == moves[phase].sum() in (15, 21)
        assert level[phase][0] > 2
        # 100 virtual workers cannot follow speeds to less than half of one in five or twelve.
        assert level[phase][8:].max() < 1.1


def test_the_papers_own_signals_move_for_ever() -> None:
    moves, _ = path(steady=False)
    assert moves[20:SLOTS].sum() > 10
    assert moves[SLOTS + 20 :].sum() > 10


def test_more_virtual_workers_come_closer() -> None:
    few, many = path(virtual=5)[1], path(virtual=20)[1]
    assert 1.1 < few[SLOTS - 10 : SLOTS].max() < 1.2
    assert many[SLOTS - 10 : SLOTS].max() < 1.05


def test_lanes_that_are_alike_hand_over_nothing() -> None:
    generator = np.random.default_rng(3)
    loop = SteadyDelegation(LANES)
    for _ in range(50):
        seconds = generator.uniform(0.95, 1.05, LANES)
        assert not loop.signals(seconds, np.full(LANES, VIRTUAL)).any()


def test_a_lane_keeps_its_last_virtual_worker() -> None:
    assert not SteadyDelegation(2).signals([1.0, 50.0], [19, 1]).any()


def test_lanes_that_nobody_measured_wait() -> None:
    loop = SteadyDelegation(3)
    assert not loop.signals([np.nan] * 3, [5, 5, 5]).any()
    assert loop.signals([1.0, np.nan, 9.0], [5, 5, 5]).tolist() in ([1, 0, -1], [0, 1, -1])
    again = loop.signals([np.nan, np.nan, 9.0], [5, 5, 5])
    assert again[2] == -1


def test_every_giver_has_a_taker() -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        loop = SteadyDelegation(6)
        wishes = loop.signals(generator.exponential(1.0, 6), generator.integers(1, 9, 6))
        assert wishes.sum() == 0


@pytest.mark.parametrize(
    ("seconds", "workers"),
    [([1.0], [1, 1]), ([1.0, 1.0], [0, 1]), ([1.0, 1.0, 1.0], [1, 1, 1])],
    ids=["too few", "no virtual worker", "too many"],
)
def test_what_is_given_is_checked(seconds: list[float], workers: list[int]) -> None:
    with pytest.raises(InvalidArgument, match="of 2 lanes"):
        SteadyDelegation(2).signals(seconds, workers)


def test_it_goes_on_from_its_state() -> None:
    loop = SteadyDelegation(3, newest=0.3)
    loop.signals([1.0, 2.0, 3.0], [5, 5, 5])
    again = SteadyDelegation.restore(loop.state())
    for one in (loop, again):
        one.signals([3.0, 2.0, 1.0], [5, 5, 5])
    assert again.state() == loop.state()
    with pytest.raises(CorruptState, match="no costs of 3 lanes"):
        SteadyDelegation.restore({**loop.state(), "costs": [1.0]})
    with pytest.raises(CorruptState):
        SteadyDelegation.restore({**loop.state(), "parameters": {"rest": 1}})
