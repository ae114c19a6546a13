"""fish against its twin, and how soon it follows a change."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.head_and_tail import head_and_tail_lanes
from tests.routers.streams import zipf
from trimtab import router
from trimtab.metrics import max_over_mean


@pytest.mark.parametrize(("lanes", "epoch"), [(5, 100), (20, 700), (80, 5000)])
def test_fast_equals_slow(lanes: int, epoch: int) -> None:
    hashes = zipf(4000, 300, 1.4, seed=2)
    made = router("fish", lanes=lanes, epoch=epoch, seed=1)
    expected = head_and_tail_lanes(hashes.tolist(), lanes, 0.2, 1, "fish", epoch)
    assert made.route(hashes).tolist() == expected


def test_a_new_hot_key_is_level_within_an_epoch() -> None:
    made = router("fish", lanes=32, epoch=5_000, seed=1)
    for seed in range(4):  # other keys are hot each time
        made.route(zipf(20_000, 2000, 1.4, seed=seed))
        made.advance()
    loads = np.bincount(made.route(zipf(20_000, 2000, 1.4, seed=9)), minlength=32)
    assert max_over_mean(loads) < 1.1


def test_counts_of_the_past_fade() -> None:
    made = router("fish", lanes=4, epoch=100, seed=1)
    made.route(np.full(100, 7, dtype=np.uint64))
    made.route(zipf(2000, 500, 0.0, seed=1))
    keys, _ = made._counted.entries()  # type: ignore[attr-defined]
    assert 7 not in keys.tolist()
