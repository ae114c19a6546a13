"""Seconds per row become weights only where they say something that rows do not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trimtab import Histogram, planner
from trimtab.control.key_costs import MOST_KEYS, REMEMBERED, KeyCosts, KeySeconds
from trimtab.metrics import max_over_mean

ROWS = Histogram.from_counts({k: 1000.0 / k for k in range(1, 40)}, total=8000.0, distinct=4000)


def spent(per_row: dict[int, float], histogram: Histogram = ROWS, rest: float = 1e-3) -> KeySeconds:
    """Return what a batch of these rows would have shown, with all its named keys told of."""
    rows = histogram.weights
    seconds = rows * np.array([per_row.get(int(key), rest) for key in histogram.hashes])
    others = (histogram.total - rows.sum()) * rest
    return KeySeconds(
        histogram.hashes, rows, seconds, histogram.total, float(seconds.sum() + others)
    )


def costs(*batches: KeySeconds) -> KeyCosts:
    known = KeyCosts()
    for batch in batches:
        known = known.after(batch)
    return KeyCosts.restore(json.loads(json.dumps(known.state())))


def test_a_key_whose_rows_cost_ten_times_as_much_weighs_as_much_as_it_takes() -> None:
    slow = spent({5: 1e-2})
    weighed = costs(slow, slow).weighed(ROWS, lanes=4)
    true = dict(zip(slow.hashes.tolist(), slow.seconds / slow.all_seconds, strict=True))
    shares = dict(zip(weighed.hashes.tolist(), weighed.shares.tolist(), strict=True))
    assert weighed.total == pytest.approx(ROWS.total)
    for key, share in shares.items():
        assert share == pytest.approx(true[key], rel=0.01)


def test_lanes_become_level_in_seconds() -> None:
    slow = spent({3: 4e-3, 9: 2e-2, 1: 1e-4})
    seconds = Histogram.from_counts((slow.hashes, slow.seconds), total=slow.all_seconds)
    by_rows = planner("trim", lanes=4, split=False).plan(ROWS)
    by_time = planner("trim", lanes=4, split=False).plan(costs(slow, slow).weighed(ROWS, 4))
    assert max_over_mean(by_rows.loads(seconds)) > 1.2
    assert max_over_mean(by_time.loads(seconds)) < 1.05


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([], id="nothing was measured"),
        pytest.param([spent({5: 1e-2})], id="a key was slow in one batch only"),
        pytest.param([spent({5: 1e-2}), spent({})], id="the newest batch says that it was chance"),
        pytest.param([spent({})] * 2, id="all rows cost alike"),
        pytest.param([spent({5: 1.1e-3})] * 2, id="a tenth more is chance"),
        pytest.param([spent({5: 1e-4}, rest=1e-6)] * 2, id="nothing of it takes long"),
    ],
)
def test_rows_stay_rows_where_seconds_say_nothing_else(batches: list[KeySeconds]) -> None:
    assert costs(*batches).weighed(ROWS, lanes=4) is ROWS


def test_the_tail_by_host_knows_what_its_keys_cost() -> None:
    keys = np.arange(60, dtype=np.uint64)
    rows = Histogram.from_hashes(np.repeat(keys, 50), top=0, hosts=6)
    slow = KeySeconds(keys[7:8], np.array([50.0]), np.array([3.0]), 3000.0, 3.0 + 2950 * 1e-3)
    weighed = costs(slow, slow).weighed(rows, lanes=3)
    assert weighed.host_weights is not None
    # Host 1 has ten keys of 50 rows; one of them takes as long as all other keys together.
    expected = np.full(6, 0.5) / 5.95
    expected[1] = 3.45 / 5.95
    assert weighed.host_weights / weighed.total == pytest.approx(expected, rel=0.01)
    assert weighed.hashes.tolist() == [7]
    # All keys of the batch are known, and the slow one is not among them.
    others = Histogram.from_hashes(np.repeat(np.delete(keys, 7), 50))
    assert 7 not in costs(slow, slow).weighed(others, lanes=3, exact=True).hashes


def test_a_key_without_rows_is_forgotten_and_few_are_remembered() -> None:
    known = costs(spent({5: 1e-2}), spent({5: 1e-2}))
    other = spent({}, Histogram.from_counts({10_000: 8000.0}))
    for _ in range(REMEMBERED):
        known = known.after(other)
    assert 5 in known.keys
    known = known.after(other)
    assert known.keys.tolist() == [10_000]
    many = np.arange(2 * MOST_KEYS, dtype=np.uint64)
    much = KeySeconds(many, np.ones(many.size), np.arange(many.size) * 1.0, many.size, 1e9)
    assert known.after(much).keys.tolist() == many[MOST_KEYS:].tolist()
    assert KeyCosts().after(KeySeconds(many[:0], *np.zeros((2, 0)), 0.0, 0.0)).keys.size == 0
