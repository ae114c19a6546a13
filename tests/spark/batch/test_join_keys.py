"""What a join is on, read from names and conditions: equal columns, or nothing that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F

from trimtab import hash_keys
from trimtab.errors import InvalidArgument
from trimtab.spark.batch.join_keys import JoinKeys

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def left(spark: SparkSession) -> DataFrame:
    return spark.sql("select id as a, 'x' as s, id as k, true as `true`, id as `a b` from range(3)")


@pytest.fixture(scope="module")
def right(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "select cast(id as int) as b, 'x' as t, id as k, id as a, id as `1`, id as `lower(s)`, "
        "map(1, id) as m from range(3)"
    )


def pairs(left: DataFrame, right: DataFrame, *on: Column) -> list[tuple[str, str]] | None:
    keys = JoinKeys.by_condition(left, right, on)
    return None if keys is None else list(zip(keys.left.names, keys.right.names, strict=True))


def test_equal_columns_are_seen(left: DataFrame, right: DataFrame) -> None:
    assert pairs(left, right, left.s == right.t) == [("s", "t")]
    assert pairs(left, right, right.t == left.s) == [("s", "t")]
    assert pairs(left, right, F.col("s") == F.col("t")) == [("s", "t")]
    assert pairs(left, right, left.k == right.k) == [("k", "k")]
    assert pairs(left, right, right.k == left.k) == [("k", "k")]
    assert pairs(left, right, left.k == right.b) == [("k", "b")]
    assert pairs(left, right, left.k == right.a) == [("k", "a")]
    assert pairs(left, right, left.k == right.k, left.s == right.t) == [("k", "k"), ("s", "t")]
    both = (left.k == right.k) & (left.s == right.t)
    assert pairs(left, right, both & (left.a == right.b)) == [("k", "k"), ("s", "t"), ("a", "b")]


def test_what_is_more_or_less_than_equal_columns_is_not(left: DataFrame, right: DataFrame) -> None:
    conditions = [
        left.k > right.k,
        left.k.eqNullSafe(right.k),
        (left.k == right.k) | (left.a == right.b),
        (left.k == right.k) & (left.a > right.b),
        ~(left.k == right.k),
        F.lower(left.s) == right.t,
        left.k + 1 == right.k,
        # Of one side alone, or of a value that is called like a column.
        left.a == left.k,
        right.a == right.k,
        left.a == 1,
        left.s == F.lit("t"),
        (left.k == right.k) & (left.a == 1),
        (left.k == right.k) & (left.a == left.k),
        left["true"] == F.lit(True),
        F.lower(left.s) == right.t,
        # Spark compares these after a cast, and has no hash for the last.
        left.s == right.k,
        left["true"] == right.m[1],
        F.lit(True),
    ]
    for condition in conditions:
        assert pairs(left, right, condition) is None, condition


def test_equal_keys_of_different_widths_have_equal_hashes(
    left: DataFrame, right: DataFrame
) -> None:
    keys = JoinKeys.by_condition(left, right, [left.k == right.b])
    assert keys is not None
    assert str(keys) == "k = b"
    ours = left.select(keys.left.hash.alias("h")).toPandas()["h"].to_numpy()
    theirs = right.select(keys.right.hash.alias("h")).toPandas()["h"].to_numpy()
    np.testing.assert_array_equal(np.sort(ours), np.sort(theirs))
    assert set(ours.view(np.uint64)) == set(hash_keys(np.arange(3)))


def test_names_of_both_sides(left: DataFrame, right: DataFrame) -> None:
    keys = JoinKeys.by_name(left, right, ["k", "a"])
    assert keys.merged
    assert str(keys) == "k, a"
    with pytest.raises(InvalidArgument, match="on must be the name, or names"):
        JoinKeys.by_name(left, right, [])
    with pytest.raises(InvalidArgument, match="no column 'b'"):
        JoinKeys.by_name(left, right, ["b"])
