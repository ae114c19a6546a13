"""Columns and frames whose texts are recorded, and how: needs pyspark alone."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql.window import Window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FOLDER = Path(__file__).parent

SCHEMA = "user string, x int, `odd.name` double"


def columns() -> dict[str, Column]:
    """Return aggregates of every form that is told apart, by what they are."""
    return {
        "count of rows": F.count("*"),
        "count of rows in SQL": F.expr("count(*)"),
        "sum": F.sum("x"),
        "sum in capitals": F.expr("SUM(x)"),
        "sum of an odd name": F.sum(F.col("`odd.name`")),
        "sum of a product": F.sum(F.col("x") * 2),
        "sum of what holds": F.sum(F.when(F.col("USER") == "a", F.col("x"))),
        "sum where": F.expr("sum(x) FILTER (WHERE x > 1)"),
        "average": F.avg("x"),
        "greatest row": F.max(F.struct("*")),
        "greatest row in SQL": F.expr("max(struct(*))"),
        "count where": F.count_if(F.col("x") > 1),
        "distinct sum": F.sum_distinct("x"),
        "distinct sum in SQL": F.expr("sum(DISTINCT x)"),
        "sum with an alias": F.sum("x").alias("total"),
        "average under a false name": F.avg("x").alias("avg(user)"),
        "average under a false name in SQL": F.expr("avg(x) `avg(user)`"),
        "sum and one": F.sum("x") + 1,
        "sum as text": F.sum("x").cast("string"),
        "sum over a window": F.sum(F.sum("x")).over(Window.partitionBy(F.lit(1))),
        "list": F.collect_list("x"),
        "set": F.collect_set("x"),
        "array": F.array_agg("x"),
        "joined texts": F.listagg("user", F.lit(",")),
        "joined texts in SQL": F.expr("string_agg(user, ',')"),
        "median": F.median("x"),
        "mode": F.mode("x"),
        "percentile": F.percentile("x", 0.5),
        "percentile in SQL": F.expr("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)"),
        "bars": F.histogram_numeric("x", F.lit(3)),
        "size of a list": F.size(F.collect_list("x")),
        "about a percentile": F.percentile_approx("x", 0.5),
    }


def conditions() -> dict[str, Column]:
    """Return conditions of joins, by what they are."""
    a, b, c, d = (F.col(name) for name in "abcd")
    return {
        "equal columns": a == b,
        "two pairs": (a == b) & (c == d),
        "three pairs": ((a == b) & (c == d)) & (b == c),
        "three pairs, the last two first": (a == b) & ((c == d) & (b == c)),
        "equal nulls": a.eqNullSafe(b),
        "one of two pairs": (a == b) | (c == d),
        "no pair": ~(a == b),
        "a pair and more": (a == b) & (c > d),
        "a pair and a truth": (a == b) & c,
        "a function": F.lower(a) == b,
        "a field": F.col("l.a") == b,
        "an odd name": F.col("`a b`") == b,
        "a number": a == 1,
        "a text": a == "b",
        "an equality that is compared": (a == b) == c,
    }


def frames(df: DataFrame) -> dict[str, DataFrame]:
    """Return aggregations of `df` that Spark plans in different ways, by what they are."""

    @F.pandas_udf("double")  # type: ignore[call-overload,untyped-decorator]
    def middle(values: pd.Series) -> float:
        return float(values.median())

    def nameless(values: pd.Series) -> float:
        return float(values.median())

    nameless.__name__ = "<lambda>"  # a lambda would have no types for Spark to read
    nameless = F.pandas_udf(nameless, "double")  # type: ignore[call-overload]
    by_user = df.groupBy("user")
    odd = df.withColumnRenamed("odd.name", "a], [b(")
    wide = df.select("x", *(F.col("user").alias(f"user{i}") for i in range(40)))
    return {
        "sum": by_user.agg(F.sum("x")),
        "list": by_user.agg(F.collect_list("x")),
        "one distinct": by_user.agg(F.sum("x"), F.countDistinct("x")),
        "two distinct": by_user.agg(F.countDistinct("x"), F.countDistinct("`odd.name`")),
        "in Python": by_user.agg(middle("x")),
        "in Python by an odd name": odd.groupBy("user", "a], [b(").agg(middle("x")),
        "in Python by many keys": wide.groupBy(*wide.columns[1:]).agg(middle("x")),
        "in Python without a name": by_user.agg(nameless("x")),
    }


def record(spark: SparkSession) -> dict[str, Any]:
    """Return the texts of the running Spark, by case."""
    df = spark.createDataFrame([("a", 1, 2.0), ("b", 2, 3.0)], SCHEMA)
    aggregates = columns().items()
    return {
        "columns": {
            case: {"written": str(column), "shown": df.groupBy().agg(column).columns[0]}
            for case, column in aggregates
        },
        "conditions": {case: str(column) for case, column in conditions().items()},
        "plans": {case: explained(frame) for case, frame in frames(df).items()},
        "streams": {case: explained(frame, True) for case, frame in streams(spark).items()},
    }


def streams(spark: SparkSession) -> dict[str, DataFrame]:
    """Return streaming frames with different numbers of watermarks, by what they are."""
    rates = spark.readStream.format("rate").load()
    late = rates.withWatermark("timestamp", "10 seconds")
    return {
        "no watermark": rates.where("value > 1"),
        "one watermark": late.groupBy("value").count(),
        "two watermarks": late.union(rates.withWatermark("timestamp", "20 seconds")),
    }


def explained(df: DataFrame, extended: bool = False) -> str:
    """Return what `explain` prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        df.explain(extended)
    return text.getvalue()


def recorded() -> dict[str, dict[str, Any]]:
    """Return all texts that were recorded, by version of Spark and by mode, classic or connect."""
    files = sorted(FOLDER.glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}
