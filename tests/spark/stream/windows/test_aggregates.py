"""What a windowed aggregate needs of a row, and that it is what it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from tests.conftest import CONNECT
from tests.spark.stream.inputs import SCHEMA
from trimtab.errors import InvalidArgument
from trimtab.spark.stream.windows.aggregates import columns_read, read_aggregates

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


def test_only_columns_that_an_aggregate_speaks_of_are_read(spark: SparkSession) -> None:
    blank = spark.createDataFrame([], SCHEMA)
    cases: list[tuple[dict[str, Column | str], list[str]]] = [
        ({"n": F.count("*")}, []),
        ({"n": "count(1)", "s": "sum(price)"}, ["price"]),
        ({"s": F.sum(F.when(F.col("FLAG"), F.col("price")))}, ["price", "flag"]),
        ({"s": F.sum(F.col("price") * 2)}, ["price"]),
        ({"s": F.expr("max(`amount`)")}, ["amount"]),
        ({"s": F.count(F.struct("*"))}, ["price", "weight", "amount", "flag"]),
        ({"s": F.expr("max(struct(*))")}, ["price", "weight", "amount", "flag"]),
    ]
    for given, expected in cases:
        assert columns_read(blank, given, ["user", "ts"]) == ["user", "ts", *expected]


@pytest.mark.skipif(CONNECT, reason="Connect takes no expression of this depth")
def test_a_column_at_the_end_of_a_long_expression_is_read(spark: SparkSession) -> None:
    blank = spark.createDataFrame([], SCHEMA)
    large = sum((F.lit(i) for i in range(60)), F.lit(0))
    given = {"s": F.sum(large + F.col("weight"))}
    assert columns_read(blank, given, ["user", "ts"]) == ["user", "ts", "weight"]


def test_what_reads_all_columns_is_refused_because_ours_are_among_them(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1L AS k, 2L AS x")
    for given in (F.sum(F.hash("*")), "max(struct(*))"):
        with pytest.raises(InvalidArgument, match=r"which is of all columns.*name the columns"):
            read_aggregates(frame, {"h": given}, "k")
    assert [made.name for made in read_aggregates(frame, {"n": F.count("*")}, "k")] == ["n"]


def test_an_alias_that_looks_like_another_call_is_refused(spark: SparkSession) -> None:
    blank = spark.createDataFrame([], SCHEMA)
    for false in (F.avg("price").alias("avg(weight)"), F.expr("avg(price) AS `avg(weight)`")):
        with pytest.raises(InvalidArgument, match="without an alias"):
            read_aggregates(blank, {"mean": false})


def test_a_sum_that_overflows_in_one_pane_is_null_in_its_windows(spark: SparkSession) -> None:
    large = f"CAST('{9 * 10**37}' AS DECIMAL(38, 0))"
    rows = spark.sql(
        f"SELECT pane, x FROM VALUES (0, {large}), (0, {large}), (1, 1BD), (2, NULL) AS t(pane, x)"
    )
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(InvalidArgument, match="make it a column by itself with withColumn"):
            read_aggregates(rows, {"s": "sum(x + 1)"}, "pane")
        (made,) = read_aggregates(rows, {"s": "sum(x)"}, "pane")
        partials = zip(made.partials, made.parts, strict=True)
        panes = rows.groupBy("pane").agg(*(column.alias(part.name) for column, part in partials))

        def total(of: str) -> object:
            merged = panes.where(of).groupBy().agg(*(F.expr(part.merged) for part in made.parts))
            return merged.select(made.result).collect()[0]["s"]

        assert [total(of) for of in ("pane > 0", "pane = 2", "true")] == [1, None, None]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def test_sums_of_intervals_are_not_taken_back(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1L AS k, INTERVAL '1' SECOND AS x")
    (made,) = read_aggregates(frame, {"s": "sum(x)"}, "k")
    assert [part.has_inverse for part in made.parts] == [False]


def test_a_field_is_not_taken_for_a_column_with_its_name(spark: SparkSession) -> None:
    frame = spark.sql("SELECT named_struct('b', 1.0D) AS a, 2.0D AS `a.b`, 3.0D AS `c.d`, 4L AS t")
    for of_field in (F.avg("a.b"), "stddev(a.b)"):
        with pytest.raises(InvalidArgument):
            read_aggregates(frame, {"m": of_field}, "t")
    assert read_aggregates(frame, {"m": F.avg("`c.d`"), "s": "stddev(`c.d`)"}, "t")
