from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.simulate import Latencies


def test_percentiles_are_within_a_bucket_of_the_truth() -> None:
    seconds = np.random.default_rng(1).lognormal(-5.0, 2.0, 50_000)
    latencies = Latencies()
    for part in np.array_split(seconds, 7):
        latencies.add(part)
    assert latencies.count == seconds.size
    assert latencies.mean == pytest.approx(seconds.mean())
    for percent in (1, 50, 95, 99):
        exact = np.sort(seconds)[int(np.ceil(seconds.size * percent / 100)) - 1]
        assert latencies.percentile(percent) == pytest.approx(exact, rel=2**-8)


def test_merging_counts_both() -> None:
    one, two = Latencies(), Latencies()
    one.add(np.array([1.0]))
    two.add(np.array([3.0, 0.0]))
    one.merge(two)
    assert (one.count, one.mean) == (3, pytest.approx(4 / 3))


def test_nothing_has_no_latency() -> None:
    assert (Latencies().mean, Latencies().percentile(99)) == (0.0, 0.0)
    with pytest.raises(InvalidArgument, match="percent"):
        Latencies().percentile(101)
