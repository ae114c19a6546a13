"""dagreedy against its twin and what its score promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.dagreedy import DAGreedy
from tests.routers.streams import small_streams, zipf
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.dagreedy import DAGreedyRouter
from trimtab.routers.hash import HashRouter


@settings(max_examples=80)
@given(
    batches=st.lists(small_streams(), min_size=1, max_size=5),
    lanes=st.integers(1, 9),
    slides=st.integers(1, 4),
    stats_window=st.integers(20, 200),
    heat=st.sampled_from([0.01, 0.1, 0.5, 1.0]),
)
def test_fast_equals_slow(
    batches: list[NDArray[np.uint64]], lanes: int, slides: int, stats_window: int, heat: float
) -> None:
    fast = DAGreedyRouter(lanes, slides, stats_window, heat)
    slow = DAGreedy(lanes, slides, stats_window, heat)
    for hashes in batches:
        assert fast.route(hashes).tolist() == slow.route(hashes.tolist())
        fast.advance()
        slow.advance()
        fast = DAGreedyRouter.restore(fast.state())


def imbalance(lanes: NDArray[np.int32], n: int) -> float:
    loads = np.bincount(lanes, minlength=n)
    return float(loads.max() / loads.mean() - 1)


def replication(hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> float:
    pairs = np.unique(np.stack([hashes, lanes.astype(np.uint64)]), axis=1)
    return float(pairs.shape[1] / np.unique(hashes).size)


@pytest.mark.parametrize(("lanes", "slides"), [(70, 3), (5, 1)], ids=["70 lanes", "tumbling"])
def test_fast_equals_slow_where_tables_grow(lanes: int, slides: int) -> None:
    # Hot from 3 sightings in 300 tuples on: hundreds of rows, over many windows and slides.
    fast = DAGreedyRouter(lanes, slides, 300, 0.01 * lanes)
    slow = DAGreedy(lanes, slides, 300, 0.01 * lanes)
    for batch in range(5):
        hashes = zipf(800, 1000, 1.0, seed=batch)
        assert fast.route(hashes).tolist() == slow.route(hashes.tolist())
        fast.advance()
        slow.advance()


def test_a_uniform_stream_is_hashed() -> None:
    # Hot from 11 sightings in 16,000 tuples on; each of 100,000 keys is expected 0.16 times.
    hashes = zipf(100_000, 100_000, 0.0, seed=1)
    lanes = DAGreedyRouter(16).route(hashes)
    assert np.array_equal(lanes, HashRouter(16).route(hashes))


@pytest.mark.parametrize(
    ("z", "imbalanced", "replicated"), [(1.0, 0.57, 1.007), (1.5, 0.35, 1.010)]
)
def test_it_beats_the_authors_program_on_both_costs(
    z: float, imbalanced: float, replicated: float
) -> None:
    hashes = zipf(1_000_000, 100_000, z, seed=1)
    lanes = DAGreedyRouter(64).route(hashes)
    assert imbalance(lanes, 64) <= imbalanced
    assert replication(hashes, lanes) <= replicated


def test_a_key_leaves_its_lanes_only_for_one_that_is_emptier_by_the_mean() -> None:
    # Key 0, at home on lane 0, is hot from its second tuple on. Loads and what they mean:
    # (2, 0, 0, 0) and (2, 1, 0, 0): the best holder is more than the mean above an empty lane;
    # (2, 1, 1, 0): exactly the mean above lane 3, a tie for lane 1; (2, 2, 1, 0): less than the
    # mean; (2, 2, 2, 0): more. Then all lanes hold the key and the emptiest one wins.
    r = DAGreedyRouter(4, stats_window=100, heat=0.04)
    lanes = r.route(np.zeros(13, dtype=np.uint64))
    assert lanes.tolist() == [0, 0, 1, 2, 1, 2, 3, 3, 0, 1, 2, 3, 0]


def test_fragments_expire_with_their_slides() -> None:
    r = DAGreedyRouter(4, slides=2, stats_window=100, heat=0.04)
    r.route(np.zeros(50, dtype=np.uint64))
    r.advance()
    # A light load on lanes 0 to 2: lane 3 is the emptiest, and held by key 0 until its slide goes.
    r.route(np.array([4, 5, 6], dtype=np.uint64))
    r.advance()
    rows = r.state()["arrays"]
    assert rows["_numbers"][3] == 4  # cells ever used
    assert rows["_facts"][0, 2] == -1  # no lane holds key 0 any more
    assert rows["_loads"].tolist() == [1, 1, 1, 0]
    assert r.route(np.zeros(1, dtype=np.uint64)).tolist() == [3]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slides": 0}, "slides must be"),
        ({"stats_window": 0}, "stats_window must be"),
        ({"heat": 0}, "heat must be"),
    ],
    ids=["slides", "stats_window", "heat"],
)
def test_bad_parameters_are_refused_at_the_call(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        DAGreedyRouter(4, **parameters)


@pytest.mark.parametrize(
    ("field", "where", "value"),
    [
        pytest.param("_numbers", 2, 99, id="more rows than there are"),
        pytest.param("_numbers", 3, -1, id="a negative number of cells"),
        pytest.param("_facts", (0, 2), 50, id="a list that starts outside"),
        pytest.param("_cells", (0, 0), 4, id="a lane that does not exist"),
        pytest.param("_cells", (0, 2), 0, id="a list that is a circle"),
        pytest.param("_keys", slice(None), 3, id="one key in two rows"),
    ],
)
def test_a_damaged_state_is_refused(field: str, where: object, value: int) -> None:
    r = DAGreedyRouter(4, stats_window=100, heat=0.04)
    r.route(np.tile(np.arange(2, dtype=np.uint64), 30))
    state = r.state()
    DAGreedyRouter.restore(state)
    state["arrays"][field][where] = value
    with pytest.raises(CorruptState):
        DAGreedyRouter.restore(state)
