"""What Spark's grouped frames offer, ours offer: every public name, and what no layout helps."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import functions as F
from pyspark.sql.group import GroupedData
from pyspark.sql.pandas.group_ops import PandasCogroupedOps

from tests.spark.frames import rows, skewed
from trimtab.spark import CoGroupedFrame, GroupedFrame, group_by
from trimtab.spark.batch.grouped_by_spark import grouped_by_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def public_names(offered: type) -> set[str]:
    return {name for name in dir(offered) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("sparks", "ours"), [(GroupedData, GroupedFrame), (PandasCogroupedOps, CoGroupedFrame)]
)
def test_every_public_name_of_sparks_is_one_of_ours(sparks: type, ours: type) -> None:
    missing = public_names(sparks) - public_names(ours)
    assert not missing, f"offer these too, or hand them to Spark: {sorted(missing)}"
    for name in public_names(sparks):
        theirs = [p for p in inspect.signature(getattr(sparks, name)).parameters if p != "exprs"]
        taken = inspect.signature(getattr(ours, name)).parameters
        assert [p for p in taken if p in theirs] == theirs, f"{name} takes {theirs} in Spark"


def test_spark_connect_has_no_other_names() -> None:
    connect = pytest.importorskip("pyspark.sql.connect.group")
    assert public_names(connect.GroupedData) <= public_names(GroupedFrame)
    assert public_names(connect.PandasCogroupedOps) <= public_names(CoGroupedFrame)


@pytest.mark.spark
@pytest.mark.both
def test_a_pivot_is_sparks_own(spark: SparkSession) -> None:
    df = skewed(spark, 200)
    pivoted = group_by(df, "user", lanes=3).pivot("page", [1, 2])
    assert rows(pivoted.agg(F.sum("x"))) == rows(
        df.groupBy("user").pivot("page", [1, 2]).agg(F.sum("x"))
    )


@pytest.mark.spark
def test_state_per_key_is_refused_in_a_batch_as_spark_refuses_it(spark: SparkSession) -> None:
    def kept(key: Any, pieces: Any, state: Any) -> Any:
        yield from pieces

    grouped = group_by(skewed(spark, 20), "user", lanes=3)
    held = grouped.applyInPandasWithState(kept, "x long", "n long", "append", "NoTimeout")
    with pytest.raises(UnsupportedOperationException, match="unsupported in batch query"):
        held.collect()


@pytest.mark.spark
def test_a_frame_of_ours_can_be_the_state_that_a_stream_starts_from(spark: SparkSession) -> None:
    grouped = group_by(skewed(spark, 20), "user", lanes=3)
    assert isinstance(grouped_by_spark(grouped), type(spark.range(1).groupBy()))
    assert grouped_by_spark(None) is None


@pytest.mark.spark
def test_the_session_is_the_frames(spark: SparkSession) -> None:
    df = spark.range(1)
    assert group_by(df, "id").session is df.sparkSession
