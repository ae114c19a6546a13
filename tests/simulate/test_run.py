from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from trimtab import Plan, hash_keys, metrics, planner, router, simulate
from trimtab.control.cost_model import Operator, Placement, makespan
from trimtab.control.delegation import Delegation
from trimtab.control.repartitioner import Repartitioner
from trimtab.errors import InvalidArgument
from trimtab.workloads import drifting_zipf, zipf_ids

LANES = 8
STREAM = hash_keys(zipf_ids(100_000, 5_000, 1.0, seed=2))
UNEVEN = np.array([2.0, 1.5, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5])


def test_windows_are_what_the_partitioner_did() -> None:
    result = simulate.run(router("pkg", lanes=LANES, seed=1), STREAM, window=30_000)
    again = router("pkg", lanes=LANES, seed=1)
    assert len(result.windows) == 4
    for number, start in enumerate(range(0, STREAM.size, 30_000)):
        chunk = STREAM[start : start + 30_000]
        lanes = again.route(chunk)
        again.advance()
        assert result.loads[number].tolist() == np.bincount(lanes, minlength=LANES).tolist()
        assert result.replication[number] == metrics.replication(chunk, lanes)
        expected = makespan(Placement.measured(chunk, lanes, LANES), Operator(split_keys=True))
        assert result.makespans[number] == expected.seconds
    assert result.latencies.size == STREAM.size


def test_a_plan_is_applied_to_every_window() -> None:
    plan = Plan(2, {int(STREAM[0]): [(0, 0.5), (1, 0.5)]})
    result = simulate.run(plan, STREAM[:1000], window=500)
    assert result.name == "plan"
    assert result.loads.sum(axis=1).tolist() == [500, 500]
    assert result.moved.tolist() == [0.0, 0.0]


def test_a_planner_plans_from_the_window_before() -> None:
    result = simulate.run(planner("kip", lanes=LANES), STREAM, window=20_000)
    hashed = simulate.run(Plan(LANES), STREAM, window=20_000)
    assert result.max_over_mean[0] == hashed.max_over_mean[0]
    assert (result.max_over_mean[1:] < hashed.max_over_mean[1:]).all()
    assert result.moved[0] == 0.0
    assert 0.0 < result.moved[1] < 0.5


def test_a_repartitioner_moves_less_on_a_drifting_stream() -> None:
    stream = hash_keys(drifting_zipf(200_000, 5_000, 1.0, every=100_000, seed=4))
    free = simulate.run(planner("prompt", lanes=LANES), stream, window=10_000)
    judged = simulate.run(
        planner("prompt", lanes=LANES), stream, window=10_000, repartitioner=Repartitioner()
    )
    assert judged.moved.sum() < 0.5 * free.moved.sum()
    # It follows the drift at window 10 all the same.
    assert judged.moved[10:14].sum() > 0
    assert judged.max_over_mean[15:].max() < judged.max_over_mean[10]


def test_shuffle_at_eighty_per_cent_keeps_queues_short_and_hash_does_not() -> None:
    level = simulate.run(router("shuffle", lanes=LANES), STREAM, window=20_000)
    hashed = simulate.run(router("hash", lanes=LANES), STREAM, window=20_000)
    assert level.queues.max() <= 1
    assert [w.utilisation.max() for w in level.windows] == pytest.approx([0.8] * 5, abs=0.01)
    assert (np.diff(hashed.queues.max(axis=1)) > 0).all()
    assert hashed.summary()["latency_p99"] > 100 * level.summary()["latency_p99"]


def test_consistent_grouping_brings_unequal_lanes_together() -> None:
    grouping = router("cg", lanes=LANES, virtual=20, seed=1)
    delegation = Delegation()

    def signal(window: simulate.Window) -> None:
        grouping.delegate(delegation.signals(window.utilisation))  # type: ignore[attr-defined]

    def spread(window: simulate.Window) -> float:
        return float(window.utilisation.max() - window.utilisation.min())

    options: dict[str, Any] = {"window": 2_000, "capacities": UNEVEN}
    alone = simulate.run(router("shuffle", lanes=LANES), STREAM, **options)
    guided = simulate.run(grouping, STREAM, after_window=signal, **options)
    assert spread(alone.windows[-1]) > 1.0
    assert spread(guided.windows[-1]) < 0.4
    assert guided.queues[-1].max() < 0.2 * alone.queues[-1].max()


def test_lanes_whose_speed_changes_use_the_last_speeds_from_then_on() -> None:
    speeds = np.vstack([np.ones(LANES), UNEVEN])
    result = simulate.run(router("shuffle", lanes=LANES), STREAM, window=25_000, capacities=speeds)
    assert result.max_over_mean.tolist() == pytest.approx([1.0, 2.125, 2.125, 2.125], rel=0.01)


def test_the_summary_goes_through_json() -> None:
    summary = simulate.run(router("hash", lanes=4), STREAM[:1000], window=300).summary()
    assert json.loads(json.dumps(summary)) == summary
    assert (summary["windows"], summary["tuples"]) == (4, 1000)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"partitioner": "hash"}, "a router, a plan or a planner; got str"),
        ({"hashes": np.empty(0, dtype=np.uint64)}, "at least one tuple"),
        ({"window": 0}, "window"),
        ({"rate": 0.0}, "rate"),
        ({"capacities": [1.0, 2.0]}, "capacities must be 8"),
        ({"capacities": np.ones((1, 1, 8))}, "one row of them per window"),
        ({"operator": Operator(row_seconds=0.0, ship_seconds=0.0)}, "rows must cost time"),
        ({"repartitioner": Repartitioner()}, "give a planner"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], words: str) -> None:
    given = {"partitioner": Plan(8), "hashes": STREAM[:10], **arguments}
    with pytest.raises(InvalidArgument, match=words):
        simulate.run(given.pop("partitioner"), given.pop("hashes"), **given)
