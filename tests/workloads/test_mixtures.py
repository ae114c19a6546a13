from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads import Law
from trimtab.workloads.mixtures import alternating, side_by_side

CALM, SKEWED = Law(1000, 0.0), Law(1000, 2.0)


def top(slot: np.ndarray) -> tuple[int, float]:
    keys, counts = np.unique(slot, return_counts=True)
    return int(keys[counts.argmax()]), float(counts.max() / slot.size)


def test_laws_take_turns_and_come_back_with_other_hot_keys() -> None:
    found = [top(slot) for slot in alternating([CALM, SKEWED], 8, 5000, every=2, seed=1)]
    assert [share > 0.5 for _, share in found] == [False, False, True, True] * 2
    assert found[2][0] == found[3][0]
    assert found[2][0] != found[6][0]


def test_every_source_has_its_own_law() -> None:
    (slot,) = side_by_side([CALM, SKEWED], 1, 10_000, seed=1)
    assert top(slot[::2])[1] < 0.02
    assert top(slot[1::2])[1] == pytest.approx(SKEWED.shares()[0], abs=0.03)


def test_no_law_is_a_mistake() -> None:
    with pytest.raises(InvalidArgument, match="at least one law"):
        next(alternating([], 1, 1, every=1))
