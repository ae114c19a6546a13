from __future__ import annotations

import numpy as np
import pytest

from trimtab import hash_keys, planner, router
from trimtab.cli.trial import SCALARS, Trial, parsed, try_out
from trimtab.errors import InvalidArgument
from trimtab.metrics import costs
from trimtab.planners import Planner
from trimtab.routers import Router


def trial(*windows: tuple[list[int], list[int]], splits_keys: bool = False) -> Trial:
    """Return the trial of windows that are given as keys and their lanes, of two."""
    measured = [costs(hash_keys(np.array(keys)), lanes, 2) for keys, lanes in windows]
    placed = np.concatenate([np.array(lanes, np.int32) for _, lanes in windows])
    return Trial("x", "router", splits_keys, placed, measured)


@pytest.mark.parametrize(
    ("partitioner", "kind"),
    [(router("pkg", lanes=4), "router"), (planner("kip", lanes=4), "planner")],
    ids=["a router", "a planner"],
)
def test_a_partitioner_is_tried_window_by_window(partitioner: Router | Planner, kind: str) -> None:
    hashes = hash_keys(np.arange(1000) % 37)
    made = try_out(hashes, partitioner, window=400)
    assert (made.name, made.kind) == (partitioner.name, kind)
    assert [window.tuples for window in made.windows] == [400, 400, 200]
    assert made.lanes.size == 1000
    assert made.loads.sum() == 1000
    # A router cannot say beforehand where a key will go, so that nothing can be said to move.
    assert (made.moved is None) == (kind == "router")


def test_loads_are_those_of_all_windows() -> None:
    made = trial(([1, 2, 3], [0, 0, 1]), ([1, 2], [1, 1]))
    assert made.loads.tolist() == [2, 3]


def test_averages_weigh_windows_by_their_tuples() -> None:
    made = trial(([1, 2, 3, 4], [0, 0, 0, 1]), ([1, 2], [1, 1]))
    assert made.mean("max_over_mean") == pytest.approx((1.5 * 4 + 2.0 * 2) / 6)


@pytest.mark.parametrize(
    ("splits_keys", "ratio"),
    [
        pytest.param(False, 1.0, id="a key of three rows must be somewhere"),
        pytest.param(True, 1.5, id="a key that may be split is no excuse"),
    ],
)
def test_the_bound_depends_on_whether_keys_may_be_split(splits_keys: bool, ratio: float) -> None:
    assert trial(([7, 7, 7, 8], [0, 0, 0, 1]), splits_keys=splits_keys).over_bound == ratio


def test_no_tuples_are_level() -> None:
    made = trial(([], []))
    assert made.over_bound == 1.0
    assert made.mean("max_over_mean") == 1.0
    assert all(np.isfinite(made.mean(cost)) for cost in SCALARS)


def test_numbers_and_words_after_set() -> None:
    assert parsed("epsilon=0.5") == ("epsilon", 0.5)
    assert parsed("x=a=b") == ("x", "a=b")
    with pytest.raises(InvalidArgument, match="NAME=VALUE"):
        parsed("=5")
