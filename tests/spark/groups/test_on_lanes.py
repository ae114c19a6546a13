"""A function on lanes: in one pass or by Spark's call, the same results and the same frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql import functions as F

from tests.spark.frames import hashings, layouts, rows, skewed
from trimtab.errors import InvalidArgument
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.on_lanes import apply_on_lanes, merge_parts
from trimtab.spark.groups.user_functions import PANDAS
from trimtab.spark.routing.route import route_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

SEEN = "key string, columns string, n int"


def seen(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    columns = ",".join(group.columns)
    return pd.DataFrame({"key": [str(key)], "columns": [columns], "n": [len(group)]})


@pytest.mark.parametrize(
    "partitioner", ["kip", "ch"], ids=["the lane is an expression", "the lane is a column"]
)
@pytest.mark.parametrize("nested", [False, True], ids=["in one pass", "by Spark's call"])
def test_groups_are_whole_and_hidden_columns_hidden(
    spark: SparkSession, partitioner: str, nested: bool
) -> None:
    df = skewed(spark, 300)
    df = df.withColumn("list", F.array("x")) if nested else df
    keyed = KeyedFrame.by(df, ["user", F.col("page") % 2])
    route = route_of(keyed.df, keyed.key, 3, partitioner, split=False)
    ours = apply_on_lanes(keyed, route, keyed.df, PANDAS, seen, SEEN, keyed.added)
    theirs = df.groupBy("user", F.col("page") % 2).applyInPandas(seen, SEEN)
    assert rows(ours) == rows(theirs)
    assert (layouts(ours), hashings(ours)) == (1, 0)


def test_parts_must_have_the_key(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgument, match="its schema has no 'user'"):
        merge_parts(spark.range(1), ["user"], 2, PANDAS, seen, SEEN)
