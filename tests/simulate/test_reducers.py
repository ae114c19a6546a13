from __future__ import annotations

import numpy as np
import pytest

from tests.reference.cluster import fragments
from trimtab.errors import InvalidArgument
from trimtab.simulate import Reducers

RANDOM = np.random.default_rng(5)
KEYS = RANDOM.integers(0, 300, 2000).astype(np.uint64)
LANES = RANDOM.integers(0, 6, 2000).astype(np.int32)
LANES[KEYS >= 100] = 0  # whole keys


@pytest.mark.parametrize("only_split", [True, False])
def test_work_equals_the_twin(only_split: bool) -> None:
    found = fragments(KEYS.tolist(), LANES.tolist())
    counted = [n for n in found.values() if n > 1 or not only_split]
    reducers = Reducers(4, fragment_seconds=2.0, key_seconds=1.0, only_split=only_split)
    merged = reducers.merge(KEYS, LANES)
    assert (merged.replicas, merged.keys) == (sum(found.values()), len(found))
    assert merged.fragments == sum(counted)
    assert merged.seconds.sum() == 2.0 * sum(counted) + len(counted)
    # Every reducer has some of the hundred keys.
    assert merged.seconds.min() > 0


def test_whole_keys_are_not_merged() -> None:
    merged = Reducers(2, only_split=False).merge(KEYS, np.zeros(KEYS.size, dtype=np.int32))
    assert merged.seconds.tolist() == [0.0, 0.0]


def test_in_micro_batches_whole_keys_are_merged_too() -> None:
    one_lane = np.zeros(KEYS.size, dtype=np.int32)
    merged = Reducers(1, fragment_seconds=1.0, always=True).merge(KEYS, one_lane)
    assert merged.seconds.tolist() == [np.unique(KEYS).size]


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="count"):
        Reducers(0)
