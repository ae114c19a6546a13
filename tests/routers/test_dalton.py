"""dalton against its twin, the authors' mistakes and the paper's statements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.dalton import Dalton
from tests.routers.streams import small_streams, zipf
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.routers.dalton import DaltonRouter
from trimtab.routers.hash import HashRouter


def imbalance(lanes: NDArray[np.int32], n: int) -> float:
    loads = np.bincount(lanes, minlength=n)
    return float(loads.max() / loads.mean() - 1)


def replication(hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> float:
    pairs = np.unique(np.stack([hashes, lanes.astype(np.uint64)]), axis=1)
    return pairs.shape[1] / np.unique(hashes).size


def fan_out(hashes: NDArray[np.uint64], lanes: NDArray[np.int32], key: int) -> int:
    return np.unique(lanes[hashes == key]).size


@settings(max_examples=80)
@given(
    batches=st.lists(small_streams(), min_size=1, max_size=6),
    lanes=st.integers(1, 9),
    slides=st.integers(1, 4),
    windows_per_lane=st.integers(1, 12),
    statistics=st.sampled_from(["exact", "count-min", "auto"]),
    exploration=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    step=st.sampled_from([0.1, 0.5, 1.0]),
    balance=st.sampled_from([0.0, 0.5, 1.0]),
    heat=st.sampled_from([0.3, 1.0, 1.7]),
    seed=st.integers(0, 99),
)
def test_fast_equals_slow(
    batches: list[NDArray[np.uint64]],
    lanes: int,
    slides: int,
    windows_per_lane: int,
    heat: float,
    **parameters: Any,
) -> None:
    stats_window = int(np.ceil(heat * lanes)) * windows_per_lane
    fast = DaltonRouter(lanes, slides, stats_window, heat=heat, **parameters)
    slow = Dalton(lanes, slides, stats_window, heat=heat, **parameters)
    for hashes in batches:
        assert fast.route(hashes).tolist() == slow.route(hashes.tolist())
        assert fast.hot_keys().tolist() == slow.hot_keys()
        assert fast.split_keys().tolist() == slow.split_keys()
        fast.advance()
        slow.advance()
        assert fast.split_keys().tolist() == slow.split_keys()
        fast = DaltonRouter.restore(fast.state())
