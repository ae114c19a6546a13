from __future__ import annotations

import numpy as np
import pytest

from trimtab import Plan
from trimtab.spark.routing.fragment_table import FragmentTable

PLANS = {
    "two halves": {5: [(0, 0.5), (1, 0.5)]},
    "a sliver and the rest": {5: [(2, 0.001), (0, 0.999)]},
    "three keys, one of them whole": {
        5: [(0, 0.2), (1, 0.3), (2, 0.5)],
        6: 3,
        7: [(3, 0.9), (0, 0.1)],
    },
    "sixty-four pieces": {5: [(lane, 1 / 64) for lane in range(64)]},
}


def picked(table: FragmentTable, key: int, row: np.uint64) -> int:
    """Return the lane as Spark's expression finds it: a guide, then at most `steps` cuts."""
    cell = int(row) >> (64 - table.cell_bits)
    first = int(table.guide[key * (1 << table.cell_bits) + cell])
    point = int(row) >> 32
    later = sum(point >= int(table.cuts[first + step]) for step in range(table.steps))
    return int(table.lanes[first + later])


@pytest.mark.parametrize("name", PLANS)
def test_few_look_ups_pick_the_fragment_that_the_plan_picks(name: str) -> None:
    plan = Plan(64, PLANS[name])  # type: ignore[arg-type]
    table = FragmentTable.of(plan)
    rows = np.random.default_rng(1).integers(0, 2**64, 500, dtype=np.uint64)
    split = [int(key) for key in plan.keys if len(plan.fragments(int(key))) > 1]
    for at, key in enumerate(split):
        expected = plan.route(np.full(rows.size, key, dtype=np.uint64), rows)
        assert [picked(table, at, row) for row in rows] == expected.tolist()
    assert table.steps <= 4
