from __future__ import annotations

import datasketches
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference import hyperloglog
from tests.sketches.streams import HOSTILE, Hashes, small_streams
from trimtab import hash_keys
from trimtab._kernel import kernel
from trimtab.sketches import HyperLogLog
from trimtab.sketches.hyperloglog import estimate_of, raise_register, rank_of, register_of


def slow(stream: Hashes, bits: int) -> hyperloglog.HyperLogLog:
    twin = hyperloglog.HyperLogLog(bits)
    for key in stream.tolist():
        twin.add(key)
    return twin


@given(stream=small_streams(), probes=small_streams(), bits=st.integers(4, 6))
def test_fast_equals_slow(stream: Hashes, probes: Hashes, bits: int) -> None:
    twin, fast = slow(stream, bits), HyperLogLog(bits)
    fast.update(stream)
    assert fast._registers[0].tolist() == twin.registers
    assert fast.estimate == twin.estimate()
    assert fast.contains(probes).tolist() == [twin.contains(key) for key in probes.tolist()]


@pytest.mark.parametrize("stream", list(HOSTILE.values()), ids=list(HOSTILE))
def test_fast_equals_slow_on_hostile_streams(stream: Hashes) -> None:
    twin, fast = slow(stream, 12), HyperLogLog()
    fast.update(stream)
    assert fast._registers[0].tolist() == twin.registers
    assert fast.estimate == twin.estimate()


def test_by_default_it_has_the_papers_4096_registers_of_a_byte() -> None:
    registers = HyperLogLog()._registers
    assert (registers.size, registers.dtype.name) == (4096, "uint8")


@pytest.mark.parametrize(
    ("filling", "most"),
    [
        *((filling, 1.45) for filling in (0.1, 0.5, 1, 2, 3.5, 5, 20, 80)),
        *((filling, 2.0 + 0.45) for filling in (2.5, 2.7, 3)),
    ],
)
@pytest.mark.parametrize("bits", [8, 12])
def test_the_standard_error_is_as_stated(filling: float, most: float, bits: int) -> None:
    """Root mean square of 40 independent errors, in units of 1.04/sqrt(m), at `filling` x m keys.

    Its own standard deviation is 1/sqrt(80) = 0.11 for one unit, so 0.45 is four of them.
    """
    errors, distinct = [], int(filling * 2**bits)
    for trial in range(40):
        sketch = HyperLogLog(bits)
        sketch.update(np.arange(distinct, dtype=np.uint64) + np.uint64(trial * 10**9))
        errors.append(sketch.estimate / distinct - 1)
    unit = 1.04 / np.sqrt(2**bits)
    assert np.sqrt(np.mean(np.square(errors))) <= most * unit


def test_small_counts_are_nearly_exact() -> None:
    for distinct in (1, 2, 5, 20, 100):
        sketch = HyperLogLog()
        sketch.update(np.arange(distinct, dtype=np.uint64))
        assert abs(sketch.distinct - distinct) <= max(1, 0.02 * distinct)


def test_poorly_mixed_keys_count_as_well_as_hashes() -> None:
    for stream in (
        np.arange(50_000, dtype=np.uint64),
        np.arange(50_000, dtype=np.uint64) << np.uint64(40),
        hash_keys(np.arange(50_000)),
    ):
        sketch = HyperLogLog()
        sketch.update(stream)
        assert abs(sketch.estimate / 50_000 - 1) <= 4 * 1.04 / 64


def test_an_added_key_is_always_contained_and_a_new_one_mostly_not() -> None:
    keys = np.arange(2_000, dtype=np.uint64)
    sketch = HyperLogLog()
    sketch.update(keys)
    assert sketch.contains(keys).all()
    # A new key passes for seen if its register is at its rank or above: with 2,000 keys in 4,096
    # registers that is 1 - E[2^-register], by the estimate's own sum about 0.2 to 0.3.
    strangers = sketch.contains(keys + np.uint64(10**6)).mean()
    expected = 1 - sketch._sums[0] / 4096
    assert abs(strangers - expected) <= 4 * np.sqrt(expected * (1 - expected) / 2000)
    assert sketch.total == 2000, "asking does not count"


def test_contains_sees_a_register_rise_that_the_small_range_estimate_does_not_show() -> None:
    """The paper compares estimates; among few keys those depend on the empty registers alone."""
    twin = slow(np.arange(8, dtype=np.uint64), 4)
    fooled = 0
    for key in range(100, 1100):
        after = hyperloglog.HyperLogLog(4)
        after.registers = list(twin.registers)
        after.add(key)
        if after.registers != twin.registers and after.estimate() == twin.estimate():
            fooled += 1
            fast = HyperLogLog(4)
            fast.update(np.arange(8, dtype=np.uint64))
            assert not fast.contains(np.array([key], dtype=np.uint64))[0]
    assert fooled > 20


@given(left=small_streams(), right=small_streams(), bits=st.integers(4, 9))
def test_merging_equals_one_sketch_of_all(left: Hashes, right: Hashes, bits: int) -> None:
    one, other, both = HyperLogLog(bits), HyperLogLog(bits), HyperLogLog(bits)
    one.update(left)
    other.update(right)
    both.update(np.concatenate([left, right]))
    merged = one.merge(other)
    assert np.array_equal(merged._registers, both._registers)
    assert merged.estimate == both.estimate


@kernel
def _per_lane(
    hashes: NDArray[np.uint64],
    registers: NDArray[np.uint8],
    sums: NDArray[np.float64],
    zeros: NDArray[np.int64],
) -> None:
    """Deal keys to lanes by turns, as a router would."""
    for i in range(hashes.size):
        lane = i % registers.shape[0]
        register, rank = register_of(hashes[i], 12), rank_of(hashes[i], 12)
        if rank > registers[lane, register]:
            raise_register(registers, sums, zeros, lane, register, rank)


def test_many_lanes_in_one_array_are_as_many_sketches() -> None:
    lanes, stream = 5, hash_keys(np.arange(60_000))
    registers = np.zeros((lanes, 4096), dtype=np.uint8)
    sums, zeros = np.full(lanes, 4096.0), np.full(lanes, 4096)
    _per_lane(stream, registers, sums, zeros)
    for lane in range(lanes):
        alone = HyperLogLog()
        alone.update(stream[lane::lanes])
        assert np.array_equal(registers[lane], alone._registers[0])
        assert sums[lane] == np.exp2(-registers[lane].astype(float)).sum()
        assert zeros[lane] == (registers[lane] == 0).sum()
        assert estimate_of(sums[lane], zeros[lane], 4096) == alone.estimate


def test_datasketches_agrees_within_both_bounds() -> None:
    keys = np.arange(20_000)
    ours = HyperLogLog()
    ours.update(keys)
    theirs = datasketches.hll_sketch(12)
    for key in keys.tolist():
        theirs.update(key)
    # Four standard errors of either, added: both are estimates of the same number.
    assert abs(ours.estimate - theirs.get_estimate()) <= 8 * 1.04 / 64 * 20_000
