from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.queues import Queues as SlowQueues
from trimtab.errors import InvalidArgument
from trimtab.simulate.queues import Queues

LANES = st.lists(st.integers(0, 3), max_size=60)


@given(LANES, LANES, st.lists(st.integers(1, 9), min_size=4, max_size=4), st.integers(1, 3))
def test_queues_equal_the_twin(
    first: list[int], second: list[int], service: list[int], rate: int
) -> None:
    fast, slow = Queues(4, rate), SlowQueues(4, rate)
    for part in (first, second):
        expected = [float(latency) for latency in slow.serve(part, service)]
        assert fast.serve(part, service).tolist() == pytest.approx(expected)
        assert fast.lengths().tolist() == slow.lengths()


def test_a_lane_that_gets_no_more_than_it_can_do_never_queues() -> None:
    queues = Queues(4, rate=4.0)
    latencies = queues.serve(np.arange(4000) % 4, np.ones(4))
    assert latencies.max() == 1.0
    assert queues.lengths().max() <= 1


def test_an_overloaded_lane_grows_by_what_it_cannot_do() -> None:
    queues = Queues(2, rate=2.0)
    queues.serve(np.zeros(1000, dtype=np.int32), [1.0, 1.0])
    # 1000 arrive in 500 seconds, in which one lane does 500.
    assert queues.lengths().tolist() == [500, 0]


def test_a_lane_that_becomes_faster_works_its_queue_off_faster() -> None:
    queues = Queues(1, rate=1.0)
    queues.serve([0] * 10, [2.0])
    assert queues.lengths().tolist() == [5]
    assert queues.serve([0], [0.1]).tolist() == pytest.approx([0.6])


@pytest.mark.parametrize(
    ("lanes", "service", "words"),
    [([0], [1.0], "positive numbers"), ([0], [0.0, 1.0], "positive"), ([2], [1.0, 1.0], "0..1")],
)
def test_mistakes_are_named(lanes: list[int], service: list[float], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Queues(2, 1.0).serve(lanes, service)


def test_a_rate_must_be_positive() -> None:
    with pytest.raises(InvalidArgument, match="rate"):
        Queues(2, 0.0)
