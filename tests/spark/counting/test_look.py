"""A look at the keys of a frame: a sample that is counted on the driver."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from trimtab import hash_keys, planner
from trimtab.errors import InvalidArgument
from trimtab.metrics import max_over_mean
from trimtab.spark.counting.look import look_at_keys, rows_wanted
from trimtab.workloads import zipf_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    key = F.when(F.col("id") < 900, F.lit("hot")).otherwise((F.col("id") % 301).cast("string"))
    return spark.range(0, 3000, 1, 3).select(key.alias("place"))


@pytest.mark.both
def test_a_small_frame_is_counted_exactly_the_heaviest_by_name(rows: DataFrame) -> None:
    counts = Counter(row["place"] for row in rows.collect())
    looked = look_at_keys(rows, ["place"], wanted=6_000, hosts=8)
    found = looked.histogram
    assert (looked.exact, looked.sampled, found.total) == (True, 3000, 3000)
    assert found.distinct == len(counts)
    assert found.label(int(found.hashes[0])) == "hot"
    assert found.weights.tolist() == sorted(counts.values(), reverse=True)
    assert found.host_weights is not None
    hosts = (hash_keys(list(counts)) % np.uint64(8)).astype(int)
    assert found.host_weights.tolist() == np.bincount(hosts, list(counts.values()), 8).tolist()


def test_keys_that_are_not_to_be_named_are_not(rows: DataFrame) -> None:
    assert not look_at_keys(rows, ["place"], wanted=900, hosts=8, labels=False).histogram.labels


def test_an_empty_frame_has_no_keys(rows: DataFrame) -> None:
    looked = look_at_keys(rows.where("false"), ["place"], wanted=900, hosts=8)
    assert (looked.sampled, looked.histogram.total, looked.histogram.distinct) == (0, 0, 0)


def test_a_sample_levels_the_whole(spark: SparkSession) -> None:
    ids = zipf_ids(200_000, 20_000, 1.0, 7)
    given = spark.createDataFrame(pd.DataFrame({"key": ids})).repartition(4)
    looked = look_at_keys(given, ["key"], wanted=16 * 1_500, hosts=1024, partitions=4)
    assert not looked.exact
    assert looked.sampled < 90_000
    # Of 24,000 rows that are sure to be taken and as many again the total is known to 1 %.
    assert looked.histogram.total == pytest.approx(ids.size, rel=0.04)
    assert looked.histogram.distinct == pytest.approx(np.unique(ids).size, rel=0.35)
    plan = planner("trim", lanes=16).plan(looked.histogram, exact=True)
    whole = np.bincount(plan.route(hash_keys(ids)), minlength=16)
    assert max_over_mean(whole.astype(float)) <= 1.12


def test_rows_that_are_looked_at_are_bounded() -> None:
    assert rows_wanted(16) == 96_000
    assert rows_wanted(100_000) == 1 << 19


def test_hosts_are_counted_from_one_on(rows: DataFrame) -> None:
    with pytest.raises(InvalidArgument, match="hosts"):
        look_at_keys(rows, ["place"], wanted=900, hosts=0)
