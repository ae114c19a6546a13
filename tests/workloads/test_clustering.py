from __future__ import annotations

import numpy as np
import pytest

from trimtab.workloads.clustering import greedy, vote

RANDOM = np.random.default_rng(3)
CENTRES = RANDOM.integers(0, 5, 60)
VALUES = 10.0 * CENTRES + RANDOM.normal(0, 0.5, 60)


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two clusterings put the same values together."""
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


def test_values_that_are_far_apart_are_told_apart() -> None:
    assert same(vote(VALUES, near=4.0), CENTRES)


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_fragments_of_several_lanes_are_put_together_again(lanes: int) -> None:
    where = np.arange(60) % lanes
    clusters = np.empty(60, dtype=np.int64)
    for lane in range(lanes):
        clusters[where == lane] = 100 * lane + vote(VALUES[where == lane], near=4.0)
    merged = greedy(VALUES, clusters, near=4.0)
    assert same(merged, CENTRES)
    assert merged[VALUES.argmin()] == 0


def test_nothing_has_no_clusters() -> None:
    assert vote([], near=1.0).size == 0
    assert greedy([], [], near=1.0).size == 0
