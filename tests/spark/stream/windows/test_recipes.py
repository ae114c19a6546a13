"""Aggregates by recipe: partial results of panes, merged, against Spark's own over all rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from trimtab.errors import InvalidArgument
from trimtab.spark.stream.windows.aggregates import Aggregate, read_aggregates
from trimtab.spark.stream.windows.recipes import HLL_BITS, MOST_VALUES, recipe_of

EQUAL = {
    "most": "max_by(x, y)",
    "least": "min_by(name, y)",
    "set": "collect_set(name)",
    "list": "collect_list(x)",
    "distinct": "count(DISTINCT name)",
    "var": "var_pop(x)",
    "sample": "variance(x)",
    "spread": "stddev(x)",
    "both": "stddev_pop(x)",
    "together": "covar_pop(x, y)",
    "sampled": "covar_samp(x, y)",
    "correlated": "corr(x, y)",
}
SKETCHED = {
    "about": "approx_count_distinct(y)",
    "median": "approx_percentile(y, 0.5)",
    "ranks": "percentile_approx(y, array(0.1, 0.9), 1000)",
    "top": "approx_top_k(name, 2, 100)",
}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    rng = np.random.default_rng(3)
    size = 3_000
    made = [
        (int(key), int(pane), f"n{value % 7}", None if value % 11 == 0 else float(x), int(value), n)
        for n, (key, pane, value, x) in enumerate(
            zip(
                rng.integers(0, 3, size),
                rng.integers(0, 9, size),
                rng.permutation(size),
                1e3 + rng.random(size),
                strict=True,
            )
        )
    ]
    return spark.createDataFrame(made, "k long, pane long, name string, x double, y long, t long")


def merged(rows: DataFrame, aggregates: list[Aggregate]) -> dict[int, Any]:
    partials = [
        partial.alias(part.name)
        for one in aggregates
        for partial, part in zip(one.partials, one.parts, strict=True)
    ]
    merges = [F.expr(part.merged) for one in aggregates for part in one.parts]
    panes = rows.groupBy("k", "pane").agg(*partials)
    found = panes.groupBy("k").agg(*merges).select("k", *(one.result for one in aggregates))
    return {row["k"]: row for row in found.collect()}


def alike(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return sorted(ours) == sorted(theirs)
    return math.isclose(ours, theirs, rel_tol=1e-9) if isinstance(theirs, float) else ours == theirs


@pytest.mark.spark
def test_lists_that_were_read_from_files_are_results(rows: DataFrame) -> None:
    (values,) = read_aggregates(rows, {"list": "collect_list(x)"}, "t")
    # Of a column in a file Spark does not know that no list in it holds a null.
    panes = rows.sparkSession.createDataFrame([], "p0 array<double>")
    assert panes.select(values.result).dtypes == [("list", "array<double>")]


@pytest.mark.spark
def test_merged_panes_give_what_spark_gives(spark: SparkSession, rows: DataFrame) -> None:
    read = read_aggregates(rows, EQUAL, "t")
    asked = [F.expr(text).alias(name) for name, text in EQUAL.items()]
    native = {row["k"]: row for row in rows.groupBy("k").agg(*asked).collect()}
    ours = merged(rows, read)
    wrong = [
        (key, name, ours[key][name], native[key][name])
        for key in native
        for name in EQUAL
        if not alike(ours[key][name], native[key][name])
    ]
    assert wrong == []
    kinds = rows.groupBy().agg(*asked).schema
    assert [one.kind for one in read] == [field.dataType for field in kinds]


@pytest.mark.spark
def test_sketches_are_within_their_bounds_and_first_is_by_time(rows: DataFrame) -> None:
    asked = {**SKETCHED, "begin": "first(y)", "end": "last(name)"}
    found = merged(rows, read_aggregates(rows, asked, "t"))
    table = rows.toPandas()
    for key, mine in table.groupby("k"):
        row = found[key]
        error = 1.04 / 2 ** (HLL_BITS / 2)
        assert abs(row["about"] / mine["y"].nunique() - 1) < 4 * error
        ordered = np.sort(mine["y"])
        for value, rank in zip([row["median"], *row["ranks"]], (0.5, 0.1, 0.9), strict=True):
            assert abs(np.searchsorted(ordered, value) / len(ordered) - rank) < 0.01
        counts = mine["name"].value_counts()
        assert [item["count"] for item in row["top"]] == list(counts.iloc[:2])
        by_time = mine.sort_values("t")
        assert (row["begin"], row["end"]) == (by_time["y"].iloc[0], by_time["name"].iloc[-1])


@pytest.mark.spark
@pytest.mark.both
def test_first_and_last_pass_nulls_by_where_they_were_asked_to(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT 1 AS k, id DIV 2 AS pane, if(id IN (1, 2), id, NULL) AS x, id AS t FROM range(6)"
    )
    asked = {
        "first": F.first("x", ignorenulls=True),
        "last": F.last("x", ignorenulls=True),
        "first_of_all": F.first("x"),
        "in_words": "first(x) IGNORE NULLS",
    }
    found = merged(rows, read_aggregates(rows, asked, "t"))[1]
    assert tuple(found)[1:] == (1, 2, None, 1)


@pytest.mark.spark
@pytest.mark.both
def test_an_estimate_that_is_to_be_better_than_the_sketch_is_refused(rows: DataFrame) -> None:
    for text in ("approx_count_distinct(y, 0.01)", F.approx_count_distinct("y", 0.01)):
        with pytest.raises(InvalidArgument, match=r"relative error is 1\.625%"):
            read_aggregates(rows, {"n": text}, "t")
    assert read_aggregates(rows, {"n": F.approx_count_distinct("y", 0.05)}, "t")


@pytest.mark.spark
def test_lists_past_their_limit_fail_with_what_to_do(spark: SparkSession) -> None:
    many = spark.range(MOST_VALUES + 1).selectExpr("id", "0L AS k", "id % 5 AS pane")
    with pytest.raises(PySparkException, match="use approx_count_distinct"):
        merged(many, read_aggregates(many, {"n": "count(DISTINCT id)"}, "id"))


@pytest.mark.spark
def test_what_cannot_be_merged_is_refused_with_what_can(rows: DataFrame) -> None:
    for text in ("percentile(y, 0.5)", "mode(y)", "stddev(y + 1)", "count(DISTINCT x, y)"):
        with pytest.raises(InvalidArgument, match=r"cannot be merged.*also approx_count_distinct"):
            read_aggregates(rows, {"a": text}, "t")
    with pytest.raises(InvalidArgument, match="cannot be merged"):
        read_aggregates(rows, {"a": "stddev(y)"})


def test_only_plain_columns_have_a_recipe() -> None:
    assert recipe_of("stddev", "x", ["x"], "t") is not None
    assert recipe_of("stddev", "z", ["x"], "t") is None
    assert recipe_of("min_by", "x, x", ["x"], "t") is not None
    assert recipe_of("first", "x", ["x"], None) is None
