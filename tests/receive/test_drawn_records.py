from __future__ import annotations

import json

import numpy as np
import pytest

from trimtab.errors import InvalidArgument, UnknownName
from trimtab.receive.drawn_records import WORKLOADS, DrawnRecords, drawn_keys, slots


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_gives_records_that_are_the_same_again(workload: str) -> None:
    keys = drawn_keys(workload, 500, 100, 1.2, seed=4)
    assert keys.tolist() == drawn_keys(workload, 500, 100, 1.2, seed=4).tolist()
    records = DrawnRecords(keys, size=100)
    data = records.lines(490, 20)
    rows = [json.loads(line) for line in data.splitlines()]
    assert [row["x"] for row in rows] == list(range(490, 510))
    assert [row["k"] for row in rows] == [keys[at % 500] for at in range(490, 510)]
    assert data == records.lines(490, 7) + records.lines(497, 13)
    assert 95 < len(data) / 20 < 115


def test_csv_and_no_padding() -> None:
    assert DrawnRecords(np.array([5, 6]), "csv").lines(0, 3) == b"5,0\n6,1\n5,2\n"
    assert DrawnRecords(np.array([5]), size=3).lines(0, 1) == b'{"k": 5, "x": 0}\n'


@pytest.mark.parametrize("shape", ["constant", "sinusoidal", "bursty"])
def test_rates_have_their_mean_and_their_shape(shape: str) -> None:
    due = slots(shape, rate=1000, seconds=60, period=10, seed=1)
    assert due.size == 1200
    assert abs(due[-1] - 60_000) < 6000
    each = np.diff(due, prepend=0)
    assert each.min() >= 0
    # Of five slots of bursts the mean is about as high; a swing of a half goes from half to one
    # and a half times the mean.
    extremes = {"constant": (50, 50), "sinusoidal": (25, 75), "bursty": (35, 179)}
    assert np.allclose([each.min(), each.max()], extremes[shape], atol=1)


def test_a_slow_rate_is_not_rounded_away() -> None:
    assert slots("constant", rate=3, seconds=10, period=1, seed=0)[-1] == 30


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown workload 'zpf'"):
        drawn_keys("zpf", 10)
    with pytest.raises(InvalidArgument, match="got none"):
        DrawnRecords(np.array([], dtype=np.int64))
    with pytest.raises(InvalidArgument, match="rate"):
        slots("constant", 0, 1, 1, 0)
