"""In how many tasks partial results of a small batch are merged."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.frames import session_setting
from trimtab.spark.stream.windows.reduce_tasks import (
    LEAST_BYTES,
    SETTING,
    UNSET,
    allow_small_tasks,
)

pytestmark = pytest.mark.spark


def test_a_session_allows_small_tasks_unless_its_user_has_said_otherwise(
    spark: SparkSession,
) -> None:
    of_query = spark.newSession()
    allow_small_tasks(of_query)
    assert of_query.conf.get(SETTING) == str(LEAST_BYTES)
    assert spark.conf.get(SETTING, UNSET) == UNSET
    with session_setting(of_query, SETTING, "4m"):
        allow_small_tasks(of_query)
        assert of_query.conf.get(SETTING) == "4m"


def test_some_ten_thousand_keys_are_worth_a_task(spark: SparkSession) -> None:
    of_query = spark.newSession()

    def tasks() -> int:
        counted = of_query.range(100_000).selectExpr("xxhash64(id) AS k").groupBy("k").count()
        return int(counted.selectExpr("spark_partition_id() AS p").distinct().count())

    assert tasks() == 1
    allow_small_tasks(of_query)
    assert tasks() == 2
