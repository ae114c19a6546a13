"""The columns of panes, results and what is carried on."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from trimtab.spark.stream.windows.aggregates import read_aggregates
from trimtab.spark.stream.windows.combining import PaneColumns
from trimtab.spark.stream.windows.panes import Windows

pytestmark = pytest.mark.spark


def test_columns_have_the_types_that_spark_gives_the_aggregates(spark: SparkSession) -> None:
    blank = spark.createDataFrame([], "`a key` string, ts timestamp_ntz, x decimal(10,2)")
    read = read_aggregates(blank, {"n": "count(*)", "total": "sum(x)"})
    windows = Windows.of("10 seconds", "2 seconds", "0 seconds")
    columns = PaneColumns("ts", windows, read, blank.schema, ["a key"], ["a key"])
    results = columns.of_results(spark)
    assert results.simpleString() == (
        "struct<window:struct<start:timestamp_ntz,end:timestamp_ntz>,a key:string,n:bigint,"
        "total:decimal(20,2)>"
    )
    carried = columns.of_carried(spark)
    assert carried.names == ["k0", "n", "p0", "p1", "p1_there"]
    assert carried["p1"].dataType == T.DecimalType(20, 2)
    frame = columns.as_carried(spark.createDataFrame([("a", 1, 2, 3, 4)], carried.names), spark)
    assert [field.dataType for field in frame.schema] == [field.dataType for field in carried]
