"""Joins of small frames on few partitions: Spark's rows for every kind of join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.batch.test_join import frame, rows
from trimtab.spark.batch.join import explain_join, join
from trimtab.spark.spark_text import physical_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

BUILT = {"inner": "right", "left": "right", "semi": "right", "anti": "right"}
"""The side that hash tables are made of where it is the smaller one, by kind of join."""


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> Iterator[tuple[DataFrame, DataFrame]]:
    settings = {
        "spark.sql.shuffle.partitions": "200",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    large = ["a"] * 200 + [None] * 40 + [f"k{i}" for i in range(300)]
    small = ["a"] * 3 + [None] * 5 + [f"k{i}" for i in range(250, 320)]
    kept = frame(spark, large, "a").cache(), frame(spark, small, "b").cache()
    # Sizes are known once the rows are there.
    for side in kept:
        side.count()
    yield kept
    for name, value in before.items():
        spark.conf.set(name, value or "")


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_rows_equal_those_of_sparks_own_join(sides: tuple[DataFrame, DataFrame], how: str) -> None:
    large, small = sides
    ours, theirs = join(large, small, "k", how), large.join(small, "k", how)
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)
    words = explain_join(large, small, "k", how)
    if how in BUILT:
        assert f"a hash table of the {BUILT[how]} side" in words
        assert "instead of 200" in words
        assert "ShuffledHashJoin" in physical_plan(ours)
    else:
        assert "instead of" not in words
    by_condition = join(large, small, large.k == small.k, how)
    assert rows(by_condition) == rows(large.join(small, large.k == small.k, how))


def test_the_left_side_may_be_the_smaller_one(sides: tuple[DataFrame, DataFrame]) -> None:
    large, small = sides
    assert "of the left side" in explain_join(small, large, "k", "right")
    assert rows(join(small, large, "k", "right")) == rows(small.join(large, "k", "right"))


def test_of_sides_of_one_size_the_right_one_is_taken(sides: tuple[DataFrame, DataFrame]) -> None:
    large, _ = sides
    other = large.selectExpr("k", "a AS c")
    assert "of the right side" in explain_join(large, other, "k")
    assert rows(join(large, other, "k")) == rows(large.join(other, "k"))


@pytest.mark.usefixtures("sides")
def test_names_in_a_struct_need_not_be_sql(spark: SparkSession) -> None:
    keys = [
        spark.sql(f"select named_struct('a.b', id % {n}, 'c d', 'x') k, id i{n} from range(20)")
        for n in (7, 5)
    ]
    assert "hash table" in explain_join(*keys, "k")
    assert rows(join(*keys, "k")) == rows(keys[0].join(keys[1], "k"))
