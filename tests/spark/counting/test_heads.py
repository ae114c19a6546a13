"""Heads of partitions: few rows, trusted only where one half of them foretells the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from pyspark.sql import functions as F

from trimtab import Histogram, hash_keys, planner
from trimtab.metrics import max_over_mean
from trimtab.spark.batch.repartition import repartition
from trimtab.spark.counting import heads as module
from trimtab.spark.counting.heads import Heads, head_rows, heads_for, heads_of
from trimtab.workloads import zipf_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 6
EACH = 8_000
LANES = 8


def heads(keys: NDArray[np.int64], whole: bool = False) -> Heads:
    """Return heads whose rows have these keys, one partition after the other."""
    hashes = np.asarray(keys, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    parts = np.repeat(np.arange(PARTITIONS, dtype=np.int32), keys.size // PARTITIONS)
    return Heads(hashes, 1e7, whole, parts)


def alike(found: Heads) -> bool:
    made = planner("trim", lanes=LANES)
    return found.are_alike(made, top=1024, hosts=128 * LANES)


def test_halves_are_of_other_partitions_and_other_places() -> None:
    found = heads(np.arange(PARTITIONS * 4))
    one, other = found.halves()
    assert one.tolist() == found.hashes[[0, 1, 8, 9, 16, 17]].tolist()
    assert other.tolist() == found.hashes[[6, 7, 14, 15, 22, 23]].tolist()
    single = Heads(found.hashes[:4], 1e7, False, found.partitions[:4])
    assert [half.size for half in single.halves()] == [2, 2]


ROWS = PARTITIONS * EACH
PLACE = np.tile(np.arange(EACH), PARTITIONS)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(zipf_ids(ROWS, 5_000, 0.8, 1), True, id="keys that are drawn are alike"),
        pytest.param(zipf_ids(ROWS, 5_000, 1.5, 1), True, id="and so are hot ones"),
        pytest.param(np.arange(ROWS) // 500, False, id="rows in the order of their keys are not"),
        pytest.param(
            zipf_ids(ROWS, 5_000, 0.8, 1)
            + 5_000 * (PLACE >= EACH // 2) * (np.arange(ROWS) % 3 > 0),
            True,
            id="new keys that are as level as the old ones do no harm",
        ),
        pytest.param(
            np.where((PLACE >= EACH // 2) & (np.arange(ROWS) % 2 == 0), -7, np.arange(ROWS) % 997),
            False,
            id="a key that becomes hot later is found",
        ),
    ],
)
def test_heads_are_trusted_where_one_half_foretells_the_other(
    keys: NDArray[np.int64], expected: bool
) -> None:
    assert alike(heads(keys.astype(np.int64))) is expected


def test_rows_that_are_all_known_foretell_nothing() -> None:
    assert alike(heads(np.arange(ROWS) // 500, whole=True))


@pytest.mark.parametrize(("lanes", "bound"), [(16, 1.06), (64, 1.09)])
@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.5])
def test_plans_from_heads_are_as_level_as_is_said(
    lanes: int, bound: float, exponent: float
) -> None:
    hosts = 64 * lanes
    for keys in (300, 100_000):
        drawn = hash_keys(zipf_ids(1_000_000, keys, exponent, 3))
        seen = Heads(drawn[: head_rows(lanes)], 1e6, False, np.zeros(0, dtype=np.int32))
        plan = planner("trim", lanes=lanes).plan(seen.counted(1024, hosts))
        assert max_over_mean(plan.loads(Histogram.from_hashes(drawn, hosts=hosts))) <= bound


@pytest.mark.spark
def test_tasks_stop_early(spark: SparkSession) -> None:
    # To read all of these rows takes minutes.
    found = heads_for(spark.range(0, 10**11, numPartitions=4), F.xxhash64("id"), LANES)
    assert found is not None
    assert (found.whole, found.rows) == (False, 1e11)
    assert np.bincount(found.partitions).tolist() == [module.LEAST_ROWS // 4] * 4
    small = heads_for(spark.range(0, 1000, numPartitions=3), F.xxhash64("id"), LANES)
    assert small is not None
    assert (small.whole, small.rows, small.distinct) == (True, 1000.0, 1000)
    none = heads_for(spark.range(0), F.xxhash64("id"), LANES)
    assert none is not None
    assert (none.whole, none.rows) == (True, 0.0)


@pytest.mark.spark
def test_what_is_not_quick_is_not_looked_at(spark: SparkSession) -> None:
    key = F.xxhash64("id")
    assert heads_for(spark.range(100).groupBy("id").count(), key, LANES) is None
    assert heads_of(spark.range(0, 1000, numPartitions=5), key, 5_000) is None


def level(df: DataFrame) -> float:
    counts = df.groupBy(F.spark_partition_id()).count().collect()
    return max_over_mean(np.array([row["count"] for row in counts] + [0] * (LANES - len(counts))))


@pytest.mark.spark
@pytest.mark.parametrize(
    "key",
    [
        pytest.param("id div 12500", id="keys one after the other: every row is counted"),
        pytest.param("cast(pow(rand(3), 3) * 5000 AS int)", id="drawn keys: the heads are enough"),
    ],
)
def test_lanes_are_level(spark: SparkSession, key: str) -> None:
    rows = spark.range(0, 1_000_000, numPartitions=4).selectExpr(f"{key} AS key")
    assert level(repartition(rows, LANES, "key")) < 1.1
