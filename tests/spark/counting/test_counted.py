"""One pass over a frame: exact where it is small, within the stated error where it is thinned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pyspark.sql import functions as F

from trimtab import Histogram, hash_keys
from trimtab.errors import InvalidArgument
from trimtab.spark.columns import key_columns
from trimtab.spark.counting import counted
from trimtab.spark.counting.counted import count_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

HOSTS = 96


def zipf_frame(spark: SparkSession, rows: int, partitions: int = 4) -> DataFrame:
    """Key k has about 1 / (k + 1) of the rows of key 0: floor(exp(u ln 2000)) is log-uniform."""
    user = F.floor(F.exp(F.rand(7) * math.log(2000))).cast("long")
    return spark.range(0, rows, numPartitions=partitions).select(
        user.alias("user"), (F.col("id") % 7).cast("double").alias("cost")
    )


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> DataFrame:
    return zipf_frame(spark, 20_000).cache()


@pytest.mark.smoke
def test_a_small_frame_is_counted_exactly(small: DataFrame) -> None:
    found = count_frame(small, key_columns(small, "user"), hosts=HOSTS, top=50)
    users = small.toPandas()["user"].to_numpy()
    expected = Histogram.from_hashes(hash_keys(users), top=50, hosts=HOSTS)
    assert found.exact
    assert found.rows == found.histogram.total == 20_000
    assert found.histogram.distinct == expected.distinct
    np.testing.assert_array_equal(found.histogram.hashes, expected.hashes)
    np.testing.assert_array_equal(found.histogram.weights, expected.weights)
    np.testing.assert_array_equal(found.histogram.host_weights, expected.host_weights)
    np.testing.assert_array_equal(found.key_rows, expected.weights)


def test_weights_come_from_their_column(small: DataFrame) -> None:
    found = count_frame(
        small, key_columns(small, "user"), hosts=HOSTS, weight=F.col("cost"), unit="seconds"
    )
    data = small.toPandas()
    expected = Histogram.from_hashes(hash_keys(data["user"].to_numpy()), weights=data["cost"])
    assert found.histogram.unit == "seconds"
    assert found.histogram.total == data["cost"].sum()
    np.testing.assert_allclose(found.histogram.weights[:20], expected.weights[:20])
    heaviest = data["user"].value_counts().max()
    assert found.key_rows[0] == heaviest


def test_bytes_are_the_size_of_a_row(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", "x" * 1000), ("b", "x")], "k string, v string")
    found = count_frame(frame, key_columns(frame, "k"), hosts=8, unit="bytes", labels=True)
    assert found.histogram.weights.tolist() == [1001.0, 2.0]
    assert found.histogram.label(int(found.histogram.hashes[0])) == "a"


def test_labels_name_composite_and_null_keys(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1)] * 3 + [(None, 2)] * 2, "k string, n int")
    found = count_frame(frame, key_columns(frame, ["k", "n"]), hosts=8, labels=True)
    labels = [found.histogram.label(int(key)) for key in found.histogram.hashes]
    assert labels == ["a, 1", "null, 2"]


@pytest.mark.smoke
def test_sparks_own_partitions_are_what_its_hash_gives(small: DataFrame) -> None:
    found = count_frame(small, key_columns(small, "user"), hosts=HOSTS, spark_lanes=6)
    placed = small.repartition(6, "user").groupBy(F.spark_partition_id().alias("p")).count()
    truth = np.zeros(6)
    for row in placed.collect():
        truth[row["p"]] = row["count"]
    assert found.spark_loads is not None
    np.testing.assert_array_equal(found.spark_loads, truth)


def test_a_thinned_frame_is_within_the_stated_error(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Thresholds scaled down, so that all three densities are met in a small frame.
    monkeypatch.setattr(counted, "COUNTED_ROWS", 2_000)
    monkeypatch.setattr(counted, "LEAST_COUNTED_ROWS", 1_000)
    frame = zipf_frame(spark, 400_000).cache()
    found = count_frame(frame, key_columns(frame, "user"), hosts=HOSTS)
    guessed = count_frame(frame, key_columns(frame, "user"), hosts=HOSTS, number_keys=False)
    truth = collect_truth(frame)
    frame.unpersist()
    # The rows that are counted are the same; how many keys there are is guessed from them.
    np.testing.assert_array_equal(guessed.histogram.weights, found.histogram.weights)
    np.testing.assert_array_equal(guessed.histogram.host_weights, found.histogram.host_weights)
    assert guessed.histogram.distinct == pytest.approx(len(truth), rel=0.5)
    assert not found.exact
    # Counted rows: 5000 + 7 / 8 x 5000 + 360000 / 64 = 15000; the last stand for 64 each, which
    # makes 1.2 % of standard error; 4 sigma.
    assert found.histogram.total == pytest.approx(400_000, rel=0.05)
    for key, weight in list(zip(found.histogram.hashes, found.histogram.weights, strict=True))[:10]:
        hits = truth[int(key)] / 400_000 * 15_000
        assert weight == pytest.approx(truth[int(key)], rel=5 * math.sqrt(3 / hits))
    # About 1999 keys, of which one in 64, about 31, is sampled whole; nearly all are met anyway.
    assert found.histogram.distinct == pytest.approx(len(truth), rel=0.5)


def collect_truth(frame: DataFrame) -> dict[int, int]:
    users = frame.groupBy("user").count().toPandas()
    hashes = hash_keys(users["user"].to_numpy())
    return dict(zip(hashes.tolist(), users["count"].tolist(), strict=True))


def test_many_keys_are_not_taken_for_few(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "COUNTED_ROWS", 500)
    monkeypatch.setattr(counted, "LEAST_COUNTED_ROWS", 100)
    frame = spark.range(0, 200_000, numPartitions=4)
    found = count_frame(frame, key_columns(frame, "id"), hosts=HOSTS)
    # 3125 keys in the key sample: 1.8 % standard error, 4 sigma.
    assert found.histogram.distinct == pytest.approx(200_000, rel=0.08)
    assert len(found.histogram) == 0
    guessed = count_frame(frame, key_columns(frame, "id"), hosts=HOSTS, number_keys=False)
    assert guessed.histogram.distinct == pytest.approx(200_000, rel=0.2)


def test_a_sampled_frame_is_scaled_up(small: DataFrame) -> None:
    found = count_frame(small, key_columns(small, "user"), hosts=HOSTS, sample=0.25)
    assert not found.exact
    # 5000 of 20000 rows: 1.2 % standard error.
    assert found.rows == pytest.approx(20_000, rel=0.06)


@pytest.mark.parametrize("sample", [0, -1, 1.5, "x"])
def test_odd_samples_are_refused(small: DataFrame, sample: float) -> None:
    with pytest.raises(InvalidArgument, match="sample must be"):
        count_frame(small, key_columns(small, "user"), hosts=HOSTS, sample=sample)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_weights_below_zero_are_refused(spark: SparkSession, bad: float) -> None:
    frame = spark.createDataFrame([("a", 1.0), ("a", bad)], "k string, w double")
    with pytest.raises(InvalidArgument, match="weights must be finite and >= 0"):
        count_frame(frame, key_columns(frame, "k"), hosts=4, weight=F.col("w"))


def test_many_counted_keys_are_thinned_and_heavy_ones_kept(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "COUNTED_ROWS", 1 << 20)
    monkeypatch.setattr(counted, "COUNTED_KEYS", 1_000)
    key = F.when(F.col("id") % 4 == 0, F.col("id") % 12).otherwise(F.col("id") + 100)
    frame = spark.range(0, 60_000, numPartitions=4).select(key.alias("k")).cache()
    found = count_frame(frame, key_columns(frame, "k"), hosts=8)
    frame.unpersist()
    assert not found.exact
    assert found.histogram.weights.tolist() == [5_000.0] * 3, "met often enough: counted exactly"
    # 45,000 light keys, of which at least one in 64 comes along: 4 % standard error at most.
    assert found.histogram.distinct == pytest.approx(45_003, rel=0.15)
    assert found.histogram.total == pytest.approx(60_000, rel=0.15)
    assert found.histogram.host_weights is not None
    np.testing.assert_allclose(found.histogram.host_weights.sum(), found.histogram.total)


def test_zeros_of_both_signs_are_one_key(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(0.0,), (-0.0,), (-0.0,), (1.0,)], "k double")
    found = count_frame(frame, key_columns(frame, "k"), hosts=8, labels=True, spark_lanes=4)
    assert found.histogram.weights.tolist() == [3.0, 1.0]
    assert found.histogram.distinct == 2


def test_what_reaches_the_driver_is_bounded() -> None:
    rows, keys, lanes, inputs, partitions = 10**9, 10**8, 10**4, 10**4, 200
    in_full = sum(
        min(counted.COUNTED_ROWS // (n + 1) + 1, rows // inputs) for n in range(inputs)
    ) + inputs * min(counted.LEAST_COUNTED_ROWS, rows // inputs)
    counted_rows = 2 * in_full + rows // 64
    met = min(keys, counted_rows) + keys // counted.KEY_SAMPLE
    hot = counted_rows // counted.HOT_HITS
    come = hot + 5 * counted.COUNTED_KEYS + 5 * partitions + met // 64
    named = hot + 4 * counted.NAMED_KEYS + 4 * partitions
    # hash, hits, rows, keys and, where they are asked for, names with their offsets
    arrays = come * (8 + 8 + 8 + 4) + named * (counted.LABEL_LENGTH + 8)
    assert arrays + lanes * 64 * 8 < 200e6


def test_a_small_limit_holds_on_a_real_run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "COUNTED_KEYS", 400)
    monkeypatch.setattr(counted, "NAMED_KEYS", 100)
    sizes: list[int] = []
    of = counted._Found.of

    def noted(table: Any, *facts: Any) -> Any:
        sizes.append(table.num_rows)
        return of(table, *facts)

    monkeypatch.setattr(counted._Found, "of", noted)
    long_names = F.concat(F.lit("k" * 2000), (F.col("id") % 20_000).cast("string"))
    frame = spark.range(30_000).select(
        F.when(F.col("id") < 3000, "hot").otherwise(long_names).alias("k")
    )
    found = count_frame(frame, key_columns(frame, "k"), hosts=16, labels=True)
    assert sizes[0] <= 400 + 400 + 4 + 20_000 // 64 * 2 + 10
    top = int(found.histogram.hashes[0])
    assert found.histogram.label(top) == "hot"
    assert found.histogram.weights[0] == pytest.approx(3000, rel=0.3)
    assert all(len(name) <= counted.LABEL_LENGTH for name in found.histogram.labels.values())
    assert found.histogram.distinct == pytest.approx(19_000, rel=0.4)
