"""Cooperating Daltons: the protocol against its twin, its parts, and what cooperation is for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.dalton import Dalton
from tests.reference.q_sync import Reducer
from tests.routers.streams import small_streams
from trimtab.control.q_sync import GlobalTable, QTableReducer, SyncMessage
from trimtab.routers.dalton import DaltonRouter

Batch = NDArray[np.uint64]


def carried(message: SyncMessage | GlobalTable) -> Any:
    """Send a message through JSON, as another process would get it."""
    as_lists = message.to_dict()
    as_lists["arrays"] = {name: array.tolist() for name, array in as_lists["arrays"].items()}
    return type(message).from_dict(json.loads(json.dumps(as_lists)))


@settings(max_examples=60)
@given(
    rounds=st.lists(
        st.tuples(small_streams(), small_streams(), st.booleans()), min_size=1, max_size=5
    ),
    lanes=st.integers(1, 7),
    partitioners=st.integers(1, 3),
    slides=st.integers(1, 3),
    heat=st.sampled_from([0.3, 1.0]),
    step=st.sampled_from([0.1, 1.0]),
)
def test_fast_equals_slow(
    rounds: list[tuple[Batch, Batch, bool]],
    lanes: int,
    partitioners: int,
    slides: int,
    heat: float,
    step: float,
) -> None:
    same = {"heat": heat, "step": step, "exploration": 0.3, "cooperate": True}
    numbers = range(partitioners)
    fast = [DaltonRouter(lanes, slides, 100, seed=i, **same) for i in numbers]  # type: ignore[arg-type]
    slow = [Dalton(lanes, slides, 100, seed=i, **same) for i in numbers]  # type: ignore[arg-type]
    reducer, twin = QTableReducer(lanes, partitioners, 100, heat=heat), Reducer(lanes, heat)

    def route(hashes: Batch) -> None:
        for i in numbers:
            # Each partitioner gets its own part, and its own order of the same keys.
            part = np.roll(hashes, i)[i :: partitioners - i]
            assert fast[i].route(part).tolist() == slow[i].route(part.tolist())

    for prepare, wait, ended in rounds:
        route(prepare)
        told = twin.merge([s.sync_message() for s in slow])
        table = carried(reducer.merge([carried(f.sync_message()) for f in fast]))
        route(wait)
        if ended:
            for i in numbers:
                fast[i].advance()
                slow[i].advance()
        assert dict(zip(table.keys.tolist(), table.values.tolist(), strict=True)) == told["q"]
        assert dict(zip(table.keys.tolist(), table.until.tolist(), strict=True)) == told["until"]
        for i in numbers:
            fast[i] = DaltonRouter.restore(fast[i].state())
            fast[i].receive(table)
            slow[i].receive(**told)
        assert [f.hot_keys().tolist() for f in fast] == [s.hot_keys() for s in slow]
        reducer = QTableReducer.restore(reducer.state())
