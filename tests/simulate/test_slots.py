from __future__ import annotations

import json

import numpy as np

from trimtab import hash_keys, router
from trimtab.simulate import Cluster, Service, stream

KEYS = hash_keys(np.arange(3000) % 50).reshape(3, 1000)


def test_a_table_has_one_row_per_slot_and_goes_through_json() -> None:
    table = stream(router("shuffle", lanes=4), KEYS, Cluster(Service(1e-3))).table()
    assert [row["slot"] for row in table] == [0, 1, 2]
    assert json.loads(json.dumps(table)) == table
    assert {row["max_over_mean"] for row in table} == {1.0}


def test_figures_of_the_whole_run() -> None:
    found = stream(router("shuffle", lanes=4), KEYS)
    assert (found.tuples, found.latencies.count) == (3000, 3000)
    assert found.loads.tolist() == [750] * 4
    assert found.of(lambda slot: slot.replication).tolist() == [2.0] * 3
