"""A frame with its key: what `groupBy` takes as key, and how its results are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkIndexError
from pyspark.sql import functions as F

from trimtab.errors import InvalidArgument
from trimtab.spark.groups.keyed_frame import KeyedFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.sql("select id as a, id as `b.c`, named_struct('x', id) as s from range(3)")


@pytest.mark.parametrize(
    "keys", [["a"], [1], [2, "a"], ["b.c"], ["A"], ["s.x"], [], ["a", 2]], ids=repr
)
def test_results_are_named_as_spark_names_them(df: DataFrame, keys: list[Any]) -> None:
    keyed = KeyedFrame.by(df, keys)
    # By its number Spark does not find a column with a dot in its name.
    theirs = df.groupBy(*["`b.c`" if key in ("b.c", 2) else key for key in keys]).count()
    assert keyed.df.groupBy(*keyed.grouping).count().columns == theirs.columns
    assert keyed.by_spark.count().columns == theirs.columns


def test_an_expression_becomes_a_column_of_ours(df: DataFrame) -> None:
    keyed = KeyedFrame.by(df, ["a", F.col("a") % 2])
    assert keyed.added == (keyed.names[1],)
    assert keyed.df.columns == [*df.columns, *keyed.added]
    assert keyed.given.columns == df.columns
    named = keyed.df.groupBy(*keyed.grouping).count().columns
    assert named == keyed.by_spark.count().columns


def test_a_dotted_name_is_a_field_where_groupby_takes_it_for_one(spark: SparkSession) -> None:
    both = spark.sql("select 1 as `a.b`, named_struct('b', id % 3) as a from range(9)")
    for key in ("a.b", "`a.b`"):
        keyed = KeyedFrame.by(both, [key])
        theirs = both.groupBy(key).count()
        assert keyed.by_spark.count().columns == theirs.columns
        assert keyed.df.groupBy(*keyed.grouping).count().count() == theirs.count()


def test_mistakes(df: DataFrame) -> None:
    with pytest.raises(PySparkIndexError, match="INDEX_NOT_POSITIVE"):
        KeyedFrame.by(df, [0])
    with pytest.raises(IndexError):
        KeyedFrame.by(df, [4])
    with pytest.raises(InvalidArgument, match="must be a column name or a Column"):
        KeyedFrame.by(df, [True])
    with pytest.raises(InvalidArgument, match="expected a Spark DataFrame; got list"):
        KeyedFrame.by([1], [])  # type: ignore[arg-type]
