"""The signals of worker delegation, and the closed loop with Consistent Grouping."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.routers.streams import zipf
from trimtab.control.delegation import Delegation
from trimtab.errors import InvalidArgument
from trimtab.routers.base import Router
from trimtab.routers.cg import CgRouter
from trimtab.routers.shuffle import ShuffleRouter


@pytest.mark.parametrize(
    ("utilisation", "signal"),
    [
        pytest.param(0.0, +1, id="an idle lane asks for more"),
        pytest.param(0.749, +1, id="just below the lower threshold"),
        pytest.param(0.75, 0, id="on the lower threshold a lane is content"),
        pytest.param(0.85, 0, id="on the upper threshold a lane is content"),
        pytest.param(0.851, -1, id="just above the upper threshold"),
        pytest.param(40.0, -1, id="an overrun lane asks for less"),
    ],
)
def test_thresholds(utilisation: float, signal: int) -> None:
    assert Delegation().signals([utilisation]).tolist() == [signal]


def test_queue_lengths_are_measured_against_capacities() -> None:
    # The same queue is long for a small lane and short for a large one.
    signals = Delegation(busy=1.2, idle=0.8).signals([50, 50, 50], capacities=[10, 50, 500])
    assert signals.tolist() == [-1, 0, +1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"busy": 0.5}, "idle must be below busy"),
        ({"busy": 0.75}, "idle must be below busy"),
        ({"busy": 0}, "busy must be a number"),
        ({"idle": -0.1}, "idle must be a number"),
    ],
    ids=["crossed", "no band", "never content", "negative"],
)
def test_parameters_are_checked(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        Delegation(**wrong)


@pytest.mark.parametrize(
    ("measured", "capacities"),
    [([-1.0], None), ([np.nan], None), (0.5, None), ([1, 2], [1]), ([1, 2], [1, 0])],
    ids=["negative", "not a number", "no lanes", "too few capacities", "no capacity"],
)
def test_measurements_are_checked(measured: object, capacities: object) -> None:
    with pytest.raises(InvalidArgument, match="one per lane"):
        Delegation().signals(measured, capacities)  # type: ignore[arg-type]


LANES, SLOTS, PER_SLOT, MEAN = 10, 80, 20_000, 0.8


def capacities(strong: slice) -> NDArray[np.float64]:
    """Three lanes five times as strong as seven; together they could do a quarter more."""
    weights = np.ones(LANES)
    weights[strong] = 5
    return np.asarray(weights / weights.sum() * PER_SLOT / MEAN)


FIRST, CHANGED = capacities(slice(0, 3)), capacities(slice(7, 10))


def run(r: Router, stream: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each slot's utilisation (tuples over capacity) and the queues at its end."""
    control = Delegation()
    queue = np.zeros(LANES)
    utilisation, queues = [], []
    for slot in range(2 * SLOTS):
        capacity = FIRST if slot < SLOTS else CHANGED
        lanes = r.route(stream[slot * PER_SLOT : (slot + 1) * PER_SLOT])
        arrived = np.bincount(lanes, minlength=LANES)
        queue = np.maximum(0, queue + arrived - capacity)
        utilisation.append(arrived / capacity)
        queues.append(queue)
        if isinstance(r, CgRouter):
            r.delegate(control.signals(arrived, capacity))
    return np.array(utilisation), np.array(queues)


@pytest.fixture(scope="module")
def stream() -> NDArray[np.uint64]:
    return zipf(2 * SLOTS * PER_SLOT, 10_000, 1.0, seed=5)


def spread(slots: NDArray[np.float64]) -> float:
    return float(np.ptp(slots.mean(axis=0)))


def test_utilisation_comes_together_and_follows_when_capacities_change(
    stream: NDArray[np.uint64],
) -> None:
    # 200 virtual workers. Equal shares load the weak lanes to 0.8 x 2.2 = 1.76 and the strong to
    # 0.35. Weak lanes should have 9.1 virtual workers instead of 20, and at most three idle lanes
    # take one per slot: 77 / 3 = 26 slots to get there, after the change 3 x 36 / 3 = 36. At rest
    # every lane is between 0.75 and 0.85, a spread of 0.1; 20 slots' mean of a weak lane's 900
    # tuples adds a noise of 0.8 x 0.033 / sqrt(20) = 0.006. 0.13 leaves five times that.
    utilisation, queues = run(CgRouter(LANES, virtual=20, seed=1), stream)
    settled, changed = slice(SLOTS - 20, SLOTS), slice(-20, None)
    assert spread(utilisation[:1]) > 1.3
    assert spread(utilisation[settled]) < 0.13
    assert spread(utilisation[SLOTS : SLOTS + 1]) > 1.3
    assert spread(utilisation[changed]) < 0.13
    # Nobody is overrun any more: queues that built up are being worked off.
    assert (queues[SLOTS - 1] <= queues[SLOTS - 20]).all()
    assert (queues[-1] <= queues[-20]).all()


def test_without_signals_the_weak_lanes_drown(stream: NDArray[np.uint64]) -> None:
    utilisation, queues = run(ShuffleRouter(LANES), stream)
    assert spread(utilisation[SLOTS - 20 : SLOTS]) > 1.3
    assert (queues[SLOTS - 1, 3:] > queues[SLOTS - 20, 3:]).all()
