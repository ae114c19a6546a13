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
