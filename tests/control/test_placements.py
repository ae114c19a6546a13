"""Predicted placements, against those of streams that were really routed."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab import Histogram, hash_keys, planner, router
from trimtab.control.cost_model import Placement
from trimtab.control.placements import Workload
from trimtab.workloads import zipf_ids

LANES = 16
STREAM = hash_keys(zipf_ids(100_000, 2_000, 1.0, seed=5))


def workload(top: int | None = None) -> Workload:
    return Workload(Histogram.from_hashes(STREAM, top), LANES, seed=1)


@pytest.mark.parametrize("name", ["hash", "ch"])
def test_where_the_key_alone_decides_the_placement_is_exact(name: str) -> None:
    found = workload().of_router(router(name, lanes=LANES))
    truth = Placement.measured(STREAM, router(name, lanes=LANES).route(STREAM), LANES)
    assert found.loads.tolist() == truth.loads.tolist()
    assert found.cardinalities.tolist() == truth.cardinalities.tolist()
    assert (found.keys, found.widest) == (truth.keys, truth.widest) == (found.keys, 1.0)


@pytest.mark.parametrize("name", ["hash", "kip", "trim", "prompt"])
def test_the_placement_of_a_plan_is_near_that_of_its_rows(name: str) -> None:
    whole = Histogram.from_hashes(STREAM, hosts=planner(name, lanes=LANES).hosts or None)
    made = planner(name, lanes=LANES)
    found = workload().of_planner(made)
    truth = Placement.measured(STREAM, made.plan(whole).route(STREAM), LANES)
    assert found.loads.sum() == pytest.approx(STREAM.size)
    assert found.loads.max() == pytest.approx(truth.loads.max(), rel=0.05)
    assert found.aggregation_cost == pytest.approx(truth.aggregation_cost, rel=0.1)


def test_tuples_that_go_anywhere_are_level_and_spread_their_keys() -> None:
    found = workload().blind()
    lanes = np.random.default_rng(2).integers(0, LANES, STREAM.size)
    truth = Placement.measured(STREAM, lanes, LANES)
    assert found.loads.tolist() == [STREAM.size / LANES] * LANES
    assert found.replication == pytest.approx(truth.replication, rel=0.01)
    assert found.widest == pytest.approx(truth.widest)


def test_a_tail_that_is_taken_as_even_is_never_spread_less_than_it_really_is() -> None:
    # The lanes of a key grow ever more slowly with its tuples: alike keys are on the most lanes.
    assert workload(top=50).blind().replication > workload().blind().replication


def test_hosts_are_counted_once_and_folded_where_they_divide() -> None:
    made = workload(top=100)
    for hosts in (LANES, 128 * LANES, 100 * LANES):
        shown = made.by_hosts(hosts, keys=10)
        assert len(shown) == 10
        assert shown.host_weights is not None
        assert shown.host_weights.size == hosts
        assert shown.host_weights.sum() == pytest.approx(STREAM.size)
    assert made.by_hosts(LANES, keys=10) is made.by_hosts(LANES, keys=10)
