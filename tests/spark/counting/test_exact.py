from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F

from trimtab import hash_keys
from trimtab.spark.counting.exact import count_keys, most_of_host

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.both
def test_a_batch_is_counted_exactly_the_heaviest_by_name(spark: SparkSession) -> None:
    key = F.when(F.col("id") < 900, F.lit("hot")).otherwise((F.col("id") % 301).cast("string"))
    rows = spark.range(3000).select(key.alias("k"))
    counts = Counter(row["k"] for row in rows.collect())
    found = count_keys(rows, ["k"], hosts=8, top=20)
    assert found.total == 3000
    assert found.distinct == len(counts)
    assert found.label(int(found.hashes[0])) == "hot"
    assert found.weights.tolist() == sorted(counts.values(), reverse=True)[:20]
    assert found.host_weights is not None
    hosts = (hash_keys(list(counts)) % np.uint64(8)).astype(int)
    assert found.host_weights.tolist() == np.bincount(hosts, list(counts.values()), 8).tolist()
    nameless = count_keys(rows, ["k"], hosts=8, top=20, labels=False)
    assert nameless.weights.tolist() == found.weights.tolist()
    assert not nameless.labels


def test_the_driver_sees_the_heaviest_keys_however_they_fall_on_hosts() -> None:
    rng = np.random.default_rng(3)
    for hosts in (1, 2, 16, 64, 1000, 10_000):
        most = most_of_host(1000, hosts)
        assert most <= 1000
        for _ in range(200):
            assert np.bincount(rng.integers(0, hosts, 1000)).max() <= most
    assert 10_000 * most_of_host(1000, 10_000) < 200_000
