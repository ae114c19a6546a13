"""Which aggregates Spark combines by itself, and which of them cannot be computed in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from tests.spark.spark_texts.cases import SCHEMA, columns, frames
from trimtab.errors import SplitKeysRefused
from trimtab.spark.batch.aggregates import any_grows, combines, refuse_unsplittable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def aggregated(spark: SparkSession) -> dict[str, DataFrame]:
    return frames(spark.createDataFrame([("a", 1, 2.0), ("b", 2, 3.0)], SCHEMA))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param("sum", True, id="sums become one number per partition"),
        pytest.param("one distinct", False, id="distinct values must all travel"),
        pytest.param("in Python", False, id="a function in Python needs the rows"),
        pytest.param("in Python without a name", False, id="so does one without a name"),
    ],
)
def test_what_spark_combines(aggregated: dict[str, DataFrame], case: str, expected: bool) -> None:
    assert combines([], aggregated[case]) is expected


def test_one_aggregate_that_grows_is_enough(aggregated: dict[str, DataFrame]) -> None:
    written = columns()
    assert not any_grows([written["sum"], written["about a percentile"]])
    assert any_grows([written["sum"], written["list"]])
    assert not combines([F.sum("x"), F.collect_list("x")], aggregated["list"])


def test_what_cannot_be_split_is_refused_by_name(aggregated: dict[str, DataFrame]) -> None:
    refuse_unsplittable(aggregated["one distinct"])
    for case, name in (("in Python", "middle"), ("in Python without a name", "<lambda>")):
        with pytest.raises(SplitKeysRefused, match=f"aggregate '{name}' needs all rows"):
            refuse_unsplittable(aggregated[case])
