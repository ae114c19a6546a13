"""A first look: it stops early, says what it does not know, and leaves costly frames alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F

from trimtab.spark.counting.first_rows import LOOKED_AT, FirstRows, first_rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_keys_that_were_not_met_are_estimated() -> None:
    ids = np.random.default_rng(3).integers(0, 10_000, LOOKED_AT).astype(np.uint64)
    look = FirstRows(ids, 1e6, whole=False)
    # 4,096 of 10,000 keys drawn with replacement: the estimate has a standard error of some 3 %.
    assert 8_500 < look.distinct < 11_500
    assert len(look.histogram) == 0
    assert look.histogram.total == 1e6


def test_a_key_stands_for_its_share_of_all_rows() -> None:
    ids = np.where(np.arange(LOOKED_AT) % 4 == 0, 8, np.arange(LOOKED_AT)).astype(np.uint64)
    look = FirstRows(ids, 4e6, whole=False)
    assert look.hottest == 0.25
    assert look.histogram.hashes.tolist() == [8]
    assert look.histogram.weights.tolist() == [1e6]


@pytest.mark.spark
@pytest.mark.both
def test_a_look_at_a_frame(spark: SparkSession) -> None:
    small = first_rows_of(spark.range(100), F.xxhash64("id"))
    assert small is not None
    assert (small.whole, small.rows, small.distinct) == (True, 100.0, 100)
    large = first_rows_of(spark.range(10**9), F.xxhash64("id"))
    assert large is not None
    assert (large.whole, large.hashes.size, large.rows) == (False, LOOKED_AT, 1e9)
    assert first_rows_of(spark.range(100).groupBy("id").count(), F.xxhash64("id")) is None
    assert first_rows_of(spark.range(0), F.xxhash64("id")) is not None
