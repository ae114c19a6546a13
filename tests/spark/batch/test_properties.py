"""Frames that hypothesis makes up: whatever the keys, results are Spark's own."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from tests.spark.frames import rows
from trimtab.spark import group_by, join, profile, repartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXAMPLES = 4
"""Every example is several Spark jobs."""

SECOND = dt.timedelta(seconds=1)
KEY_TYPES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20
    ),
    "binary": st.binary(max_size=20),
    "date": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "timestamp": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    "decimal(38,5)": st.decimals(-(10**20), 10**20, places=5).map(decimal.Decimal),
    "array<int>": st.lists(st.integers(-3, 3), max_size=3),
    "struct<a:int,b:string>": st.tuples(st.integers(-2, 2), st.sampled_from(["x", "y", None])),
}


@st.composite
def skewed_rows(draw: st.DrawFn) -> tuple[str, list[tuple[Any, int]]]:
    """Draw a type, a few keys of it, and rows most of which have the first key."""
    kind = draw(st.sampled_from(list(KEY_TYPES)))
    keys = draw(st.lists(st.none() | KEY_TYPES[kind], min_size=1, max_size=8))
    picks = draw(st.lists(st.integers(0, 15), max_size=60))
    return kind, [(keys[pick] if pick < len(keys) else keys[0], i) for i, pick in enumerate(picks)]


def frame(spark: SparkSession, made: tuple[str, list[tuple[Any, int]]], value: str) -> DataFrame:
    kind, data = made
    return spark.createDataFrame(data, f"k {kind}, {value} int").repartition(2)


@settings(max_examples=EXAMPLES)
@given(made=skewed_rows(), lanes=st.integers(1, 9))
def test_a_layout_keeps_all_rows_and_whole_keys(
    spark: SparkSession, made: tuple[str, list[tuple[Any, int]]], lanes: int
) -> None:
    df = frame(spark, made, "x")
    placed = repartition(df, lanes, "k").select("*", F.spark_partition_id().alias("at")).cache()
    assert rows(placed.drop("at")) == rows(df)
    widest = placed.groupBy("k").agg(F.countDistinct("at").alias("n")).agg(F.max("n")).collect()
    assert widest[0][0] in (None, 1)
    placed.unpersist()


@settings(max_examples=EXAMPLES)
@given(made=skewed_rows(), lanes=st.integers(1, 9))
def test_aggregates_are_exact_split_or_whole(
    spark: SparkSession, made: tuple[str, list[tuple[Any, int]]], lanes: int
) -> None:
    df = frame(spark, made, "x").cache()
    aggregates = [F.count("*").alias("n"), F.sum("x").alias("s"), F.collect_list("x").alias("l")]
    expected = rows(df.groupBy("k").agg(*aggregates))
    for partitioner in ("trim", "prompt", "kip"):
        grouped = group_by(df, "k", lanes=lanes, partitioner=partitioner)
        assert rows(grouped.agg(*aggregates)) == expected
    df.unpersist()


@settings(max_examples=EXAMPLES)
@given(
    left=skewed_rows(),
    shared=st.integers(0, 60),
    extra=st.integers(0, 20),
    how=st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]),
)
def test_joins_give_sparks_rows(
    spark: SparkSession,
    left: tuple[str, list[tuple[Any, int]]],
    shared: int,
    extra: int,
    how: str,
) -> None:
    kind, data = left
    # The other side has some of the same keys, the hottest among them, more often the more extra.
    other = [(key, i) for i, (key, _) in enumerate(data[:shared])]
    other += [(data[0][0], 1000 + i) for i in range(extra if data else 0)]
    one, two = frame(spark, left, "x"), frame(spark, (kind, other), "y")
    ours = join(one, two, "k", how, lanes=5, level_enough=1.0)
    assert rows(ours) == rows(one.join(two, "k", how))


@settings(max_examples=EXAMPLES)
@given(made=skewed_rows())
def test_a_profile_counts_every_key(
    spark: SparkSession, made: tuple[str, list[tuple[Any, int]]]
) -> None:
    df = frame(spark, made, "x")
    found = profile(df, "k", lanes=3)
    counts = [row["count"] for row in df.groupBy("k").count().collect()]
    assert found.histogram.distinct == len(counts)
    assert found.histogram.weights.tolist() == sorted(map(float, counts), reverse=True)
    assert found.spark_loads.sum() == found.rows == len(made[1])
