from __future__ import annotations

import numpy as np

from trimtab import Histogram, hash_keys, planner
from trimtab.receive.shortened import shortened
from trimtab.workloads import zipf_ids


def test_heavy_and_split_keys_are_where_they_were() -> None:
    histogram = Histogram.from_hashes(hash_keys(zipf_ids(20_000, 3_000, 1.1, seed=1)))
    plan = planner("prompt", lanes=16).plan(histogram)
    short = shortened(plan, histogram, most=100)
    split = plan.keys[np.diff(plan.starts) > 1]
    kept = set(histogram.hashes[:100].tolist()) | set(split.tolist())
    assert set(short.keys.tolist()) == kept
    assert all(short.fragments(key) == plan.fragments(key) for key in kept)
    assert (short.lanes, short.maker, short.hosts.tolist()) == (16, "prompt", plan.hosts.tolist())


def test_a_short_plan_stays_as_it_is() -> None:
    histogram = Histogram.from_counts({1: 5, 2: 3})
    plan = planner("prompt", lanes=2).plan(histogram)
    assert shortened(plan, histogram, most=2) is plan
    assert shortened(plan, histogram, most=0).keys.size <= 2
