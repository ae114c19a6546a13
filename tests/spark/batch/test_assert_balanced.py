"""The assertion for people's own tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from trimtab.errors import InvalidArgument
from trimtab.spark.batch.assert_balanced import Unbalanced, assert_balanced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


def test_level_keys_pass_and_are_reported(spark: SparkSession) -> None:
    found = assert_balanced(spark.range(20_000), "id", lanes=4, max_ratio=1.1)
    assert found.max_over_mean < 1.1


def test_skew_fails_with_the_hottest_key_and_the_advice(spark: SparkSession) -> None:
    user = F.when(F.col("id") % 2 == 0, F.lit("<hot>")).otherwise(F.col("id").cast("string"))
    clicks = spark.range(4000).select(user.alias("user"))
    with pytest.raises(AssertionError, match=r"'<hot>' holds 50\.0%") as failure:
        assert_balanced(clicks, "user", lanes=8, max_ratio=2.0)
    assert failure.type is Unbalanced
    assert "more than 2" in str(failure.value)


def test_a_ratio_below_one_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgument, match="max_ratio"):
        assert_balanced(spark.range(5), "id", lanes=4, max_ratio=0.5)
