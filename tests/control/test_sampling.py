from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Histogram
from trimtab.control.sampling import Sample, rows_per_weight
from trimtab.workloads import zipf_shares


def zipf(z: float, keys: int = 20_000, rows: float = 1e6) -> Histogram:
    hashes = np.random.default_rng(1).integers(0, 2**63, keys, dtype=np.uint64)
    return Histogram.from_counts((hashes, np.ceil(zipf_shares(keys, z) * rows)))


@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("lump", [1, 8])
def test_a_sample_keeps_shares_size_and_distinct_keys(z: float, lump: int) -> None:
    histogram = zipf(z)
    sample = Sample.draw(histogram, 4096, lump=lump)
    # Every drawn key is rounded to a whole count, which adds up to at most half a tuple each.
    assert sample.stream.size == pytest.approx(4096, rel=0.35)
    assert sample.stands_for.sum() == pytest.approx(histogram.distinct, rel=0.1)
    for key, share in zip(histogram.hashes[:5], histogram.shares[:5], strict=True):
        if share * 4096 > lump:
            found = np.count_nonzero(sample.stream == key)
            assert found == pytest.approx(share * 4096, abs=1.0)


def test_a_short_stream_is_taken_as_it_is() -> None:
    sample = Sample.draw(Histogram.from_counts({1: 5.0, 2: 3.0, 3: 1.0}), 1000)
    assert np.unique(sample.stream, return_counts=True)[1].tolist() == [5, 3, 1]
    assert sample.stands_for.tolist() == [1.0, 1.0, 1.0]
    assert sample.lump_noise == 1.0


def test_unknown_keys_get_hashes_of_their_own() -> None:
    histogram = Histogram.from_counts({1: 50.0}, total=100, distinct=51)
    sample = Sample.draw(histogram, 100)
    assert np.unique(sample.stream).size == 51


def test_the_placement_of_a_sample_scales_to_the_stream() -> None:
    histogram = zipf(1.0)
    sample = Sample.draw(histogram, 4096)
    lanes = (sample.stream % np.uint64(16)).astype(np.int32)
    placement = sample.placement(lanes, 16, tail_is_blind=True)
    assert placement.loads.sum() == pytest.approx(histogram.total)
    assert placement.aggregation_cost == pytest.approx(histogram.distinct)
    assert placement.widest == 1.0
    truth = np.bincount((histogram.hashes % np.uint64(16)).astype(int), histogram.weights)
    assert placement.loads.max() == pytest.approx(truth.max(), rel=0.05)


def test_the_lumpiness_of_the_sample_is_taken_out_where_the_tail_is_blind() -> None:
    histogram = zipf(0.0)
    sample = Sample.draw(histogram, 1024)
    lanes = (sample.stream % np.uint64(16)).astype(np.int32)
    raw = sample.placement(lanes, 16).loads.std()
    assert sample.placement(lanes, 16, tail_is_blind=True).loads.std() < raw / 3


def test_repeating_keeps_the_placement() -> None:
    sample = Sample.draw(zipf(1.0), 512)
    again = sample.repeated(3)
    lanes = (sample.stream % np.uint64(4)).astype(np.int32)
    once, thrice = sample.placement(lanes, 4), again.placement(np.tile(lanes, 3), 4)
    assert thrice.loads == pytest.approx(once.loads)
    assert thrice.cardinalities.tolist() == once.cardinalities.tolist()


def test_bytes_and_seconds_are_read_as_a_lump_of_rows_per_mean_key() -> None:
    histogram = Histogram.from_counts({1: 300.0, 2: 100.0}, unit="bytes")
    assert rows_per_weight(histogram) * 400 == 2 * 8


WEIGHTS = st.just(0.0) | st.floats(1e-6, 1e9)


@given(
    st.lists(WEIGHTS, max_size=20),
    WEIGHTS,
    st.integers(0, 10_000),
    st.sampled_from(["rows", "seconds"]),
)
def test_hostile_histograms_give_a_bounded_sample(
    weights: list[float], tail: float, more: int, unit: str
) -> None:
    total = sum(weights) + tail
    if total <= 0:
        return
    histogram = Histogram.from_counts(
        (np.arange(len(weights), dtype=np.uint64), weights),
        total=total,
        distinct=len(weights) + more,
        unit=unit,
    )
    sample = Sample.draw(histogram, 256)
    assert 0 < sample.stream.size <= 2 * 256 + len(weights)
    assert (sample.stands_for >= 1 - 1e-9).all()
