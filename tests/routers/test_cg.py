"""cg against its twin and the paper's statements; the closed loop is in control/test_delegation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.cg import Cg
from tests.routers.streams import small_streams, zipf
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.cg import CgRouter
from trimtab.routers.shuffle import ShuffleRouter


@given(data=st.data(), lanes=st.integers(1, 6), virtual=st.integers(1, 4), seed=st.integers(0, 99))
def test_fast_equals_slow(data: st.DataObject, lanes: int, virtual: int, seed: int) -> None:
    epsilon = data.draw(st.sampled_from([0.0, 0.01, 0.3]))
    fast, slow = CgRouter(lanes, virtual, epsilon, seed), Cg(lanes, virtual, epsilon, seed)
    for _ in range(data.draw(st.integers(1, 5))):
        hashes = data.draw(small_streams())
        assert fast.route(hashes).tolist() == slow.route(hashes.tolist())
        signals = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=lanes, max_size=lanes))
        assert fast.delegate(signals) == slow.delegate(signals)
        assert fast._owners.tolist() == slow.owner
        if data.draw(st.booleans()):
            fast.advance()
            slow.advance()
        fast = CgRouter.restore(fast.state())


SCENARIOS = [
    pytest.param([[+1, 0, -1]], [4, 3, 2], id="a busy lane gives to an idle one"),
    pytest.param([[+1, +1, +1]], [3, 3, 3], id="idle lanes alone change nothing"),
    pytest.param([[-1, -1, -1]], [3, 3, 3], id="busy lanes alone change nothing"),
    pytest.param([[-1, 0, 0]], [2, 4, 3], id="a content lane takes what no idle lane asks for"),
    pytest.param([[-1, 0, 0]] * 2, [1, 5, 3], id="a lane that was never busy stays first"),
    pytest.param(
        [[0, -1, 0], [-1, 0, 0]], [3, 2, 4], id="of content lanes the one busy longest ago takes"
    ),
    pytest.param([[-1, +1, +1]], [2, 4, 3], id="of two idle lanes the first takes"),
    pytest.param(
        [[+1, 0, +1], [-1, +1, +1]], [2, 3, 4], id="who has waited longer is served first"
    ),
    pytest.param(
        [[0, +1, +1], [-1, 0, +1]], [2, 3, 4], id="a lane that is content again leaves the queue"
    ),
    pytest.param([[+1, 0, -1]] * 5, [5, 3, 1], id="a lane keeps its last virtual worker"),
]


@pytest.mark.parametrize(("slots", "expected"), SCENARIOS)
def test_signals_move_virtual_workers(slots: list[list[int]], expected: list[int]) -> None:
    r = CgRouter(lanes=3, virtual=3)
    for signals in slots:
        r.delegate(signals)
    assert r.virtual_workers().tolist() == expected


def test_loads_follow_the_virtual_workers_and_only_later_tuples_are_affected() -> None:
    # 100 virtual workers with 1 % of room: a lane with k of them takes k % of what comes, to within
    # 1 % of that, from the moment it has them.
    hashes = zipf(100_000, 5000, 1.0, seed=1)
    r = CgRouter(lanes=5, virtual=20, seed=3)
    first = r.route(hashes[:50_000])
    before = r.loads().copy()
    while r.virtual_workers()[0] < 30:
        r.delegate([+1, 0, 0, 0, -1])
    assert np.array_equal(before, np.bincount(first, minlength=5))
    r.route(hashes[50_000:])
    later = r.loads() - before
    assert later / later.sum() == pytest.approx([0.3, 0.2, 0.2, 0.2, 0.1], abs=0.01)


@pytest.mark.parametrize("z", [0.5, 1.0, 2.0])
def test_no_virtual_worker_is_ever_above_its_bound(z: float) -> None:
    r = CgRouter(lanes=8, virtual=10, epsilon=0.01, seed=1)
    r.route(zipf(50_000, 5000, z, seed=1))
    assert r._shares.max() <= math.ceil(1.01 * 50_000 / 80)
    assert r._shares.sum() == r.loads().sum() == 50_000


def test_it_replicates_less_than_shuffle() -> None:
    def pairs(lanes: NDArray[np.int32]) -> int:
        return int(np.unique(np.stack([hashes, lanes.astype(np.uint64)]), axis=1).shape[1])

    hashes = zipf(100_000, 10_000, 1.0, seed=1)
    grouped = CgRouter(lanes=64, seed=2).route(hashes)
    assert pairs(grouped) < pairs(ShuffleRouter(64).route(hashes)) / 2


@pytest.mark.parametrize(
    "signals",
    [[0, 0], [0, 0, 2], [0.5, 0, 0], [[0, 0, 0]], ["up", "down", "up"]],
    ids=["too few", "not a signal", "half a signal", "two dimensions", "words"],
)
def test_signals_are_checked(signals: list[object]) -> None:
    with pytest.raises(InvalidArgument, match="signals must be 3 numbers"):
        CgRouter(lanes=3).delegate(signals)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"virtual": 0}, "virtual must be a whole number"),
        ({"epsilon": -1}, "epsilon must be a number"),
        ({"virtual": 1 << 20, "lanes": 64}, "virtual x lanes must be at most"),
    ],
    ids=["no virtual workers", "less room than the mean", "too many virtual workers"],
)
def test_parameters_are_checked(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        CgRouter(**{"lanes": 4, **wrong})


@pytest.mark.parametrize("owner", [-1, 3])
def test_a_state_that_names_no_lane_is_refused(owner: int) -> None:
    state = CgRouter(lanes=3).state()
    state["arrays"]["_owners"][0] = owner
    with pytest.raises(CorruptState, match="does not fit 3 lanes"):
        CgRouter.restore(state)
