"""What a windowed aggregate needs of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from tests.spark.stream.inputs import SCHEMA
from trimtab.spark.stream.windows.aggregates import columns_read

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

pytestmark = pytest.mark.spark


def test_only_columns_that_an_aggregate_speaks_of_are_read(spark: SparkSession) -> None:
    blank = spark.createDataFrame([], SCHEMA)
    large = sum((F.lit(i) for i in range(60)), F.lit(0))
    cases: list[tuple[dict[str, Column | str], list[str]]] = [
        ({"n": F.count("*")}, []),
        ({"n": "count(1)", "s": "sum(price)"}, ["price"]),
        ({"s": F.sum(F.when(F.col("FLAG"), F.col("price")))}, ["price", "flag"]),
        ({"s": F.sum(F.col("price") * 2)}, ["price"]),
        ({"s": F.expr("max(`amount`)")}, ["amount"]),
        ({"s": F.sum(large + F.col("weight"))}, ["weight"]),
        ({"s": F.count(F.struct("*"))}, ["price", "weight", "amount", "flag"]),
    ]
    for given, expected in cases:
        assert columns_read(blank, given, ["user", "ts"]) == ["user", "ts", *expected]
