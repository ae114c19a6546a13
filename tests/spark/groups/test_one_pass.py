"""Groups handed out in one pass against Spark's own grouped map: the same frames, to the type."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from pyspark.errors import PythonException
from pyspark.sql import types as T

from tests.spark.frames import KEYS, clock_change, keyed, rows, session_setting, skewed
from trimtab.spark.groups.one_pass import apply_per_group, in_one_pass
from trimtab.spark.groups.user_functions import ARROW, PANDAS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

SHOWN = "key string, columns string, index string, rows string"


def shown(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    """Show all there is to see of a group: names, types, index, and the values in some order."""
    values = sorted(repr([repr(value) for value in row]) for row in group.to_numpy(dtype=object))
    kinds = [f"{name} {dtype}" for name, dtype in group.dtypes.items()]
    return pd.DataFrame(
        {
            "key": [repr([(type(part).__name__, repr(part)) for part in key])],
            "columns": [repr(kinds)],
            "index": [repr(group.index)],
            "rows": [repr(values)],
        }
    )


def both(
    df: DataFrame, keys: list[str], func: Callable[..., Any], schema: str
) -> tuple[DataFrame, DataFrame]:
    """Apply `func` to the groups of `df` in one pass, and as Spark does."""
    assert in_one_pass(df.sparkSession, df.schema, keys, func, PANDAS)
    ours = apply_per_group(df.repartition(3, *keys), keys, [], func, schema)
    return ours, df.groupBy(*keys).applyInPandas(func, schema)


@pytest.fixture
def small_batches(spark: SparkSession) -> Iterator[None]:
    """Let groups go over the ends of batches."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    yield
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


@pytest.fixture(scope="module")
def all_types(spark: SparkSession) -> DataFrame:
    """Return rows of every type that is handled, with gaps in some groups and none in others."""

    def row(i: int) -> tuple[Any, ...]:
        group = i % 5
        if group == 4 and i % 3:
            return (group, *[None] * 13)
        return (
            group,
            i % 2 == 0,
            i % 100,
            i,
            # A float could not hold it, so a gap in another group must not make it one.
            2**60 + i,
            None if group == 3 and i % 2 else i,
            i / 3,
            i / 7,
            decimal.Decimal(i) / 4,
            f"text {i}",
            bytes([i % 256]),
            dt.date(2024, 1, 1) + dt.timedelta(days=i),
            dt.datetime(2024, 1, 1, 3) + dt.timedelta(minutes=i),
            dt.datetime(2024, 1, 1, 3) + dt.timedelta(minutes=i),
        )

    schema = (
        "g int, a boolean, b tinyint, c smallint, d bigint, e int, f float, h double, "
        "i decimal(10,2), j string, k binary, l date, m timestamp, n timestamp_ntz"
    )
    return spark.createDataFrame([row(i) for i in range(60)], schema).repartition(2).cache()


@pytest.mark.smoke
def test_a_function_sees_what_spark_shows_it_of_every_type(
    all_types: DataFrame, small_batches: None
) -> None:
    ours, theirs = both(all_types, ["g"], shown, SHOWN)
    assert rows(ours) == rows(theirs)


@pytest.mark.parametrize("key_type", [k for k in KEYS if k not in ("float", "double")])
def test_every_type_of_key_cuts_the_groups_that_spark_cuts(
    spark: SparkSession, key_type: str, small_batches: None
) -> None:
    # Every key twice at least, the missing one too.
    df = keyed(spark, key_type).union(keyed(spark, key_type))
    if key_type.startswith("struct"):
        assert not in_one_pass(spark, df.schema, ["k"], shown, PANDAS)
        return
    ours, theirs = both(df, ["k"], shown, SHOWN)
    assert rows(ours) == rows(theirs)


def test_several_keys_and_keys_of_nulls_and_zeros(spark: SparkSession) -> None:
    keys = [(i % 3 or None, 0 if i % 2 else None, None if i % 5 else False) for i in range(60)]
    data = [(*key, i) for i, key in enumerate(keys)]
    df = spark.createDataFrame(data, "a int, b bigint, c boolean, x int")
    ours, theirs = both(df, ["a", "b", "c"], shown, SHOWN)
    assert rows(ours) == rows(theirs)


@pytest.mark.parametrize("keys", [["hour"], ["g", "hour"], ["hour", "g"], ["hour", "other"]])
def test_hours_that_a_clock_shows_twice_are_two_groups(
    spark: SparkSession, keys: list[str], small_batches: None
) -> None:
    with session_setting(spark, "spark.sql.session.timeZone", "Europe/Berlin"):
        df = clock_change(spark)
        ours, theirs = both(df, keys, shown, SHOWN)
        assert rows(ours) == rows(theirs)
        if keys == ["hour"]:
            ours = apply_per_group(df.coalesce(1), keys, [], size, "n int")
            # The two hours that the clock shows as one, the hour before them, and no hour.
            assert rows(ours) == {(40,): 1, (80,): 1, (10,): 1, (5,): 1}


def size(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"n": [len(group)]})


def test_a_function_may_change_its_rows(spark: SparkSession, small_batches: None) -> None:
    def doubled(group: pd.DataFrame) -> pd.DataFrame:
        group["x"] *= 2
        group.loc[group["page"] == 1, "x"] = -1
        return group[["user", "x"]].sort_values("x")

    ours, theirs = both(skewed(spark, 200), ["user"], doubled, "user string, x bigint")
    assert rows(ours) == rows(theirs)


def test_results_of_other_types_than_the_group_before_are_left_as_they_are(
    spark: SparkSession,
) -> None:
    large = 2**60 + 1

    def changing(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
        if key[0] == 0:
            return pd.DataFrame({"a": [large], "b": ["text"], "c": [1]})
        if key[0] == 1:
            return pd.DataFrame({"a": [1.0, np.nan], "b": [None, "other"], "c": [1.5, 2.5]})
        if key[0] == 2:
            return pd.DataFrame([[3, "by position", 2.5]])
        return pd.DataFrame() if key[0] == 3 else pd.DataFrame({"c": [1], "b": ["x"], "a": [4]})

    df = spark.createDataFrame([(i % 6, i) for i in range(30)], "k int, x int").coalesce(1)
    schema = "a bigint, b string, c double"
    ours = apply_per_group(df, ["k"], [], changing, schema)
    theirs = df.groupBy("k").applyInPandas(changing, schema)
    assert rows(ours) == rows(theirs)
    assert ours.where(f"a = {large}").count() == 1


def test_results_of_lists_and_of_mixed_objects(spark: SparkSession) -> None:
    def listed(group: pd.DataFrame) -> pd.DataFrame:
        odd = bool(group["k"].iloc[0] % 2)
        number = decimal.Decimal("1.5") if odd else 2
        return pd.DataFrame({"x": [sorted(group["x"])], "n": pd.Series([number], dtype=object)})

    df = spark.createDataFrame([(i % 6, i) for i in range(30)], "k int, x int").coalesce(1)
    ours, theirs = both(df, ["k"], listed, "x array<int>, n decimal(10,2)")
    assert rows(ours) == rows(theirs)


def test_hidden_columns_are_not_seen_and_may_be_keys(spark: SparkSession) -> None:
    def columns(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"columns": [",".join(group.columns)]})

    df = skewed(spark, 100)
    ours = apply_per_group(df.coalesce(1), ["page"], ["page", "x"], columns, "columns string")
    assert [row["columns"] for row in ours.collect()] == ["user,price"] * 5


@pytest.mark.parametrize(
    ("gives", "sentence"),
    [
        (lambda group: [1], "should be pandas.DataFrame, but is list"),
        (lambda group: group[["x", "page"]], "Unexpected: page"),
        (lambda group: group[["page"]], "Missing: x. Unexpected: page"),
        pytest.param(
            lambda group: group[["page"]][:0],
            "Missing: x. Unexpected: page",
            marks=pytest.mark.exhaustive,
        ),
        (lambda group: pd.DataFrame([[1, 2]]), "Expected: 1 Actual: 2"),
        (lambda group: next(iter([])), "Caught StopIteration"),
    ],
)
def test_what_a_function_may_not_give_is_told_in_sparks_words(
    spark: SparkSession, gives: Callable[..., Any], sentence: str
) -> None:
    df = skewed(spark, 20)
    ours = apply_per_group(df, ["user"], [], gives, "x bigint")
    theirs = df.groupBy("user").applyInPandas(gives, "x bigint")
    for frame in (ours, theirs):
        with pytest.raises(PythonException) as raised:
            frame.collect()
        assert sentence in str(raised.value)


def test_columns_are_taken_in_order_where_the_session_says_so(spark: SparkSession) -> None:
    def swapped(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"b": [len(group)], "a": [group["x"].sum()]})

    setting = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"
    with session_setting(spark, setting, "false"):
        ours, theirs = both(skewed(spark, 50), ["user"], swapped, "a bigint, c bigint")
        assert rows(ours) == rows(theirs)
    ours, theirs = both(skewed(spark, 50), ["user"], swapped, "a bigint, b bigint")
    assert rows(ours) == rows(theirs)


def test_what_is_left_to_spark(spark: SparkSession) -> None:
    def in_pieces(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from pieces

    simple = spark.createDataFrame([(1, 1.0)], "k int, x double").schema
    nested = spark.createDataFrame([(1, [1])], "k int, x array<int>").schema
    twice = spark.createDataFrame([(1, 1)], "k int, x int").toDF("k", "K").schema
    assert in_one_pass(spark, simple, ["k"], shown, PANDAS)
    assert not in_one_pass(spark, simple, ["k"], shown, ARROW)
    assert not in_one_pass(spark, simple, ["k"], in_pieces, PANDAS)
    assert not in_one_pass(spark, simple, ["x"], shown, PANDAS)
    assert not in_one_pass(spark, nested, ["k"], shown, PANDAS)
    assert not in_one_pass(spark, twice, ["k"], shown, PANDAS)
    folded = T.StructType([T.StructField("k", T.StringType("UTF8_LCASE"))])
    assert not in_one_pass(spark, folded, ["k"], shown, PANDAS)
