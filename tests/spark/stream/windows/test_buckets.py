"""Partial results in Prompt's reduce buckets."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.spark.frames import layouts
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.spark.stream.windows.buckets import ReduceBuckets, partial_results, split_keys


def test_a_key_sends_a_partial_result_for_each_fragment_and_pane_and_no_more_than_its_rows() -> (
    None
):
    histogram = Histogram.from_counts({1: 600, 2: 50, 3: 2})
    plan = Plan(4, {1: [(0, 0.5), (1, 0.5)], 2: 2})
    sent = partial_results(plan, histogram, panes=10)
    assert dict(zip(sent.hashes.tolist(), sent.weights.tolist(), strict=True)) == {
        1: 20,
        2: 10,
        3: 2,
    }
    assert sent.total == 32


def test_a_plan_tells_which_keys_it_splits_as_spark_hashes_them() -> None:
    large = (1 << 64) - 5
    plan = Plan(4, {1: 2, large: [(0, 0.5), (1, 0.5)], 7: 3})
    assert split_keys(plan) == (-5,)
    assert split_keys(Plan(4, {1: 2})) == ()
    assert split_keys(None) is None


@pytest.mark.spark
def test_buckets_hold_whole_keys_in_one_exchange_and_are_counted(spark: SparkSession) -> None:
    frame = spark.range(4_000).selectExpr("id % 1000 AS k0", "id AS pane")
    hashes = frame.selectExpr("xxhash64(k0) AS h").distinct().toPandas()["h"].to_numpy()
    histogram = Histogram.from_hashes(np.repeat(hashes.view(np.uint64), 4))
    plan = Plan(4, {int(key): int(n % 4) for n, key in enumerate(histogram.hashes[:400])})
    buckets = ReduceBuckets(plan, histogram, 5, panes=4)
    assert buckets.rows() is None
    laid_out = buckets.lay_out(frame, ["k0"])
    assert layouts(laid_out) == 1
    places = laid_out.selectExpr("k0", "spark_partition_id() AS place", "bucket").distinct()
    found = places.collect()
    assert len(found) == 1000
    assert all(row["place"] == row["bucket"] for row in found)
    rows = buckets.rows()
    assert rows is not None
    assert rows.sum() == 4_000
    assert rows.max() <= 1.15 * rows.mean()
