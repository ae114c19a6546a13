from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.cluster import Lanes as SlowLanes
from trimtab.simulate.lanes import Lanes

TUPLES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), max_size=30)
SPEEDS = st.lists(st.integers(1, 4), min_size=3, max_size=3)


@given(st.lists(st.tuples(TUPLES, SPEEDS), min_size=1, max_size=4))
def test_lanes_equal_the_twin_while_speeds_change(
    slots: list[tuple[list[tuple[int, int]], list[int]]],
) -> None:
    fast, slow = Lanes(3), SlowLanes(3)
    for number, (tuples, speeds) in enumerate(slots):
        gap = Fraction(10, max(1, len(tuples)))
        arrivals = [10 * number + i * gap for i in range(len(tuples))]
        end = 10.0 * (number + 1)
        latencies, busy, left = slow.serve(
            [
                (lane, arrival, Fraction(work))
                for (lane, work), arrival in zip(tuples, arrivals, strict=True)
            ],
            [Fraction(speed) for speed in speeds],
            Fraction(end),
        )
        done = fast.serve(
            np.array([lane for lane, _ in tuples], dtype=np.int32),
            np.array([float(arrival) for arrival in arrivals]),
            np.array([float(work) for _, work in tuples]),
            np.array(speeds, dtype=np.float64),
            end,
        )
        assert done.latencies.tolist() == pytest.approx([float(x) for x in latencies])
        assert done.busy.tolist() == pytest.approx([float(x) for x in busy], abs=1e-9)
        assert done.backlog.tolist() == pytest.approx([float(x) for x in left], abs=1e-9)


def test_a_pause_makes_tuples_wait() -> None:
    lanes = Lanes(1)
    lanes.pause(np.array([2.0]))
    one = np.zeros(1, dtype=np.int32), np.zeros(1), np.ones(1)
    assert lanes.serve(*one, speeds=np.ones(1), end=1.0).latencies.tolist() == [3.0]
