"""Pairs of groups: equal keys of two frames on one lane, handed to one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.spark.frames import hashings, layouts, rows, skewed
from trimtab.errors import InvalidArgument
from trimtab.spark import group_by
from trimtab.spark.spark_text import physical_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    return skewed(spark).cache()


def sizes(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"l": [len(left)], "r": [len(right)]})


@pytest.mark.smoke
def test_cogroups_pair_equal_keys_without_a_further_shuffle(
    spark: SparkSession, clicks: DataFrame
) -> None:
    names = spark.createDataFrame([("hot", 1), ("k3", 2), ("nobody", 3)], "who string, y int")

    def pair(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        user = (left["user"] if len(left) else right["who"]).iloc[0]
        return pd.DataFrame({"user": [user], "l": [len(left)], "r": [len(right)]})

    schema = "user string, l bigint, r bigint"
    ours = (
        group_by(clicks, "user", lanes=5)
        .cogroup(group_by(names, "who", lanes=5))
        .applyInPandas(pair, schema)
    )
    theirs = clicks.groupBy("user").cogroup(names.groupBy("who")).applyInPandas(pair, schema)
    assert rows(ours) == rows(theirs)
    assert (layouts(ours), hashings(ours)) == (2, 0), physical_plan(ours)


def test_a_frame_that_spark_has_grouped_is_paired_by_spark(clicks: DataFrame) -> None:
    pair = group_by(clicks, "page", lanes=3).cogroup(clicks.groupBy("page"))
    assert rows(pair.applyInPandas(sizes, "l int, r int")) == {(400, 400): 5}


def test_pairs_without_keys_are_sparks_own(clicks: DataFrame) -> None:
    pair = group_by(clicks, lanes=3).cogroup(group_by(clicks, lanes=3))
    assert "Spark's own: there is no key" in pair.explain()
    assert rows(pair.applyInPandas(sizes, "l int, r int")) == {(2000, 2000): 1}


def test_what_cannot_be_paired(clicks: DataFrame) -> None:
    grouped = group_by(clicks, "user", lanes=3)
    with pytest.raises(InvalidArgument, match="cogroup takes what"):
        grouped.cogroup(clicks)
    with pytest.raises(InvalidArgument, match="the same lanes on both sides; got 3 and 4"):
        grouped.cogroup(group_by(clicks, "user", lanes=4))
    # Spark would pair these by hashes that differ though the keys are equal.
    with pytest.raises(InvalidArgument, match="same types on both sides"):
        group_by(clicks, "page", lanes=3).cogroup(group_by(clicks, "x", lanes=3))
