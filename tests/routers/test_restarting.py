"""Loads that restart with each batch: bounds hold in every one, however long a stream has run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.routers.streams import zipf
from trimtab import router
from trimtab.routers import ROUTERS, Router, router_class
from trimtab.routers._restarting import RestartingRouter

LANES, ROWS, BATCHES = 16, 4000, 200
HOT = np.uint64(0x9E3779B97F4A7C15)


@pytest.fixture(scope="module")
def batches() -> list[NDArray[np.uint64]]:
    """Return stationary batches, and two more of which a new key has 30 %."""
    stream = zipf((BATCHES + 2) * ROWS, 2000, 1.0, seed=1)
    made = np.split(stream, BATCHES + 2)
    for last in made[BATCHES:]:
        last[np.arange(ROWS) % 10 < 3] = HOT
    return made


def levels(r: Router, batches: list[NDArray[np.uint64]]) -> list[float]:
    """Return max/mean of each batch."""
    found = []
    for batch in batches:
        loads = np.bincount(r.route(batch), minlength=LANES)
        found.append(float(loads.max() / loads.mean()))
        r.advance()
    return found


def test_these_routers_restart() -> None:
    names = {name for name in ROUTERS if issubclass(router_class(name), RestartingRouter)}
    counting = {"d-choices", "w-choices", "fish"}
    assert names == {"potc", "pkg", "flexsp", "porc", "cg", "bounded-ch"} | counting


BOUNDS = [
    # ceil(1.01 x 4000 / 16) over the mean of 250.
    pytest.param("porc", {}, 253 / 250, id="porc"),
    pytest.param("bounded-ch", {}, 253 / 250, id="bounded-ch"),
    # Ten virtual workers of ceil(1.01 x 4000 / 160) = 26 each.
    pytest.param("cg", {}, 260 / 250, id="cg"),
    # Eight candidates share the 30 %: 0.6 of a lane's share each, which the tail fills up.
    pytest.param("pkg", {"choices": 8}, 1.05, id="pkg with eight choices"),
    pytest.param("potc", {}, 1.05, id="potc"),
    # Ten tuples of a new key must be seen before it may go anywhere.
    pytest.param("w-choices", {}, 1.05, id="w-choices"),
    pytest.param("fish", {}, 1.05, id="fish"),
]


@pytest.mark.parametrize(("name", "parameters", "bound"), BOUNDS)
def test_a_new_hot_key_is_level_at_once_after_many_batches(
    name: str, parameters: dict[str, int], bound: float, batches: list[NDArray[np.uint64]]
) -> None:
    r = router(name, lanes=LANES, seed=3, **parameters)
    assert max(levels(r, batches)) <= bound
    assert r.loads().sum() == sum(batch.size for batch in batches)


@pytest.mark.parametrize("name", ["porc", "bounded-ch", "cg"])
def test_endless_loads_bound_the_whole_run_and_not_the_batch(
    name: str, batches: list[NDArray[np.uint64]]
) -> None:
    # After 200 batches one percent of a lane's tuples is two batches' worth: lanes with that much
    # room take whatever a batch brings, so that some batch is far from level.
    r = router(name, lanes=LANES, seed=3, endless=True)
    found = levels(r, batches)
    total = ROWS * len(batches)
    assert max(found) > 1.1
    # At most ten virtual workers per lane round up.
    assert r.loads().max() <= math.ceil(1.01 * total / LANES) + 10


def test_endless_changes_nothing_in_one_run(batches: list[NDArray[np.uint64]]) -> None:
    stream = np.concatenate(batches[:5])
    for name in ("potc", "pkg", "porc", "cg", "bounded-ch"):
        one, other = router(name, lanes=8), router(name, lanes=8, endless=True)
        assert np.array_equal(one.route(stream), other.route(stream)), name
