"""A frame laid out by a plan: the same rows, where the plan says, whole or split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F

from tests.spark.frames import layouts, rows, skewed
from trimtab import Plan, hash_keys
from trimtab.errors import InvalidArgument, SplitKeysRefused
from trimtab.spark import explain_repartition, group_by, repartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    return skewed(spark).cache()


@pytest.mark.parametrize("partitioner", ["trim", "kip", "hash", "mixed"])
def test_rows_stay_the_same_and_keys_whole(clicks: DataFrame, partitioner: str) -> None:
    laid_out = repartition(clicks, 5, "user", partitioner)
    assert laid_out.columns == clicks.columns
    assert rows(laid_out) == rows(clicks)
    assert layouts(laid_out) == 1
    places = laid_out.select("user", F.spark_partition_id().alias("lane")).distinct()
    assert places.count() == places.select("user").distinct().count()


@pytest.mark.parametrize(
    "partitioner", [pytest.param("trim", marks=pytest.mark.smoke), "prompt", "pkg", "shuffle"]
)
def test_split_keys_level_the_partitions(clicks: DataFrame, partitioner: str) -> None:
    laid_out = repartition(clicks, 4, "user", partitioner, split=True)
    assert rows(laid_out) == rows(clicks)
    sizes = [r["count"] for r in laid_out.groupBy(F.spark_partition_id()).count().collect()]
    # The hot key has half of the rows; by hashing one partition of four would hold at least them.
    assert max(sizes) < 0.4 * sum(sizes)


@pytest.mark.smoke
def test_rows_land_where_the_plan_says(clicks: DataFrame) -> None:
    hot, other = hash_keys(["hot", "k3"]).tolist()
    plan = Plan(4, {hot: 3, other: 2}, hosts=[0, 1])
    laid_out = repartition(clicks, 4, "user", plan)
    found = laid_out.select("user", F.spark_partition_id().alias("lane")).distinct().collect()
    expected = plan.route(hash_keys([row["user"] for row in found]))
    assert [row["lane"] for row in found] == expected.tolist()


def test_it_fits_into_a_chain(clicks: DataFrame) -> None:
    chained = clicks.where("page > 1").transform(repartition, 3, "user")
    assert rows(chained) == rows(clicks.where("page > 1"))


def test_a_partitioner_that_splits_must_be_asked_for(clicks: DataFrame) -> None:
    with pytest.raises(SplitKeysRefused, match="'shuffle' splits keys"):
        repartition(clicks, 4, "user", "shuffle")


def test_the_layout_is_explained(clicks: DataFrame) -> None:
    text = explain_repartition(clicks, 4, "user", split=True)
    assert "repartition: partitioner 'trim' on 4 lanes, 1 shuffle" in text
    assert "hot keys split" in text


def test_more_lanes_than_rows(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "k string, x int")
    assert rows(repartition(frame, 50, "k")) == rows(frame)
    assert np.isclose(repartition(frame, 50, "k").count(), 2)


def test_the_first_rows_can_be_enough(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.spark.routing.route.count_frame", None)
    ids = spark.range(0, 40_000, numPartitions=4)
    # Twelve keys with a twentieth each, and no rows of them stand together.
    hot = ids.selectExpr("if(id % 20 < 12, id % 20, id) AS user")
    level = repartition(hot, 8, "user", count="first")
    sizes = [r["count"] for r in level.groupBy(F.spark_partition_id()).count().collect()]
    hashed = hot.groupBy(F.expr("pmod(xxhash64(user), 8)")).count().collect()
    # 12,000 rows are seen; a lane's load is then known to within 3 %.
    assert max(sizes) < 1.15 * 5000 < max(r["count"] for r in hashed)
    grouped = group_by(hot, "user", lanes=8, count="first")
    assert "partitioner 'trim' on 8 lanes" in grouped.explain()
    found = grouped.applyInPandas(lambda rows: rows.head(1), "user long")
    assert not isinstance(found, tuple)
    assert found.count() == 12 + 16_000
    with pytest.raises(InvalidArgument, match="count must be one of"):
        repartition(hot, 8, "user", count="some")
    with pytest.raises(InvalidArgument, match="count must be one of"):
        group_by(hot, "user", count="some")


def test_what_is_observed_is_observed_of_all_rows(spark: SparkSession) -> None:
    seen = Observation()
    df = spark.range(9_000).selectExpr("id % 7 AS k").observe(seen, F.count("*").alias("n"))
    assert repartition(df, 2, "k", count="first").count() == 9_000
    assert seen.get == {"n": 9_000}
