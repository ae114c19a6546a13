"""Sums and means by a word: Spark's own names and values, laid out only where that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, PySparkTypeError

from tests.spark.frames import layouts, rows, skewed
from trimtab.spark import group_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    return skewed(spark, 400).cache()


@pytest.mark.parametrize("partitioner", [None, "prompt"], ids=["by Spark", "laid out"])
@pytest.mark.parametrize(
    ("verb", "cols"),
    [("sum", ("x", "page")), ("avg", ("x",)), ("mean", ()), ("min", ("x",)), ("max", ("x",))],
)
def test_a_word_gives_what_it_gives_in_spark(
    clicks: DataFrame, verb: str, cols: tuple[str, ...], partitioner: str | None
) -> None:
    ours = getattr(group_by(clicks, "user", lanes=3, partitioner=partitioner), verb)(*cols)
    theirs = getattr(clicks.groupBy("user"), verb)(*cols)
    assert ours.columns == theirs.columns
    assert layouts(ours) == (0 if partitioner is None else 1)
    assert rows(ours) == rows(theirs)


def test_what_is_no_number_is_refused_as_spark_refuses_it(clicks: DataFrame) -> None:
    for partitioner in (None, "prompt"):
        grouped = group_by(clicks, "page", lanes=3, partitioner=partitioner)
        with pytest.raises((AnalysisException, PySparkTypeError), match=r"(?i)numeric"):
            grouped.sum("user")


def test_a_frame_without_numbers(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", "b")], "k string, v string")
    assert rows(group_by(df, "k", lanes=2, partitioner="kip").max()) == rows(df.groupBy("k").max())
