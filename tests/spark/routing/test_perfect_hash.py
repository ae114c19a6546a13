from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import InvalidArgument
from trimtab.spark.routing.perfect_hash import PerfectHash


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=300, unique=True))
def test_no_two_keys_share_a_slot(numbers: list[int]) -> None:
    keys = np.array(numbers, dtype=np.uint64)
    table = PerfectHash.of(keys)
    slots = table.slot_of(keys)
    assert np.unique(slots).size == keys.size
    assert slots.min() >= 0
    assert slots.max() < table.slots


@pytest.mark.parametrize("shift", [0, 8, 20, 32, 48, 63])
def test_keys_that_differ_in_few_bits_are_told_apart(shift: int) -> None:
    keys = np.unique(np.arange(64, dtype=np.uint64) << np.uint64(shift))
    assert np.unique(PerfectHash.of(keys).slot_of(keys)).size == keys.size


def test_a_key_that_is_twice_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="are all of them different"):
        PerfectHash.of(np.array([7, 7], dtype=np.uint64))
