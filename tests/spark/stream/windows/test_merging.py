"""How partial results come together: how many exchanges that takes, and what is compiled."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.frames import exchanges
from trimtab.spark.routing.compiled import lay_out
from trimtab.spark.stream.windows.merging import Gathering, closed_windows, steady
from trimtab.spark.stream.windows.panes import Part, Windows

pytestmark = pytest.mark.spark

TUMBLING, SLIDING = Windows(10, 10, 0), Windows(60, 10, 0)
SUM = [Part("p0", "sum", has_inverse=True, may_be_null=True)]
MAX = [Part("p0", "max", has_inverse=False, may_be_null=True)]
KEYS = ("k0",)


@pytest.fixture(scope="module")
def panes(spark: SparkSession) -> DataFrame:
    made = [(key, 10 * pane, 1, key) for key in range(5) for pane in range(9)]
    return spark.createDataFrame(made, "k0 long, pane long, n long, p0 long")


def in_buckets(df: DataFrame) -> DataFrame:
    return lay_out(df.selectExpr("*", "cast(k0 AS int) AS bucket"), 5, "bucket")


BY_SPARK = Gathering(KEYS, lambda df: df.repartition("k0"), KEYS, by_spark=True)
IN_TASKS = Gathering(KEYS, lambda df: df.repartition(3, "k0"), KEYS)
IN_BUCKETS = Gathering(KEYS, in_buckets, ("bucket", *KEYS))


@pytest.mark.parametrize("windows", [TUMBLING, SLIDING], ids=["tumbling", "sliding"])
@pytest.mark.parametrize("parts", [SUM, MAX], ids=["with an inverse", "without"])
@pytest.mark.parametrize("gathering", [IN_TASKS, IN_BUCKETS], ids=["by hash", "in buckets"])
def test_partial_results_are_exchanged_once(
    gathering: Gathering, parts: list[Part], windows: Windows, panes: DataFrame
) -> None:
    found = closed_windows(panes, gathering, parts, windows, 0, 30)
    assert len(exchanges(found)) == 1


def test_whole_panes_of_windows_that_do_not_overlap_are_not_exchanged(panes: DataFrame) -> None:
    found = closed_windows(panes, BY_SPARK, SUM, TUMBLING, 0, 30, whole=True)
    assert exchanges(found) == []
    merged = closed_windows(panes, BY_SPARK, SUM, TUMBLING, 0, 30)
    columns = ("k0", "start", "n", "p0")
    assert sorted(found.select(*columns).collect()) == sorted(merged.select(*columns).collect())


def test_whole_keys_pass_the_merge_by_and_split_ones_are_merged(
    panes: DataFrame, spark: SparkSession
) -> None:
    twice = panes.union(panes.where("k0 = 2"))
    (row,) = spark.sql("SELECT xxhash64(2L) AS h").collect()
    asked = (BY_SPARK, SUM, TUMBLING, 0, 30)
    forwarded = closed_windows(twice, *asked, split=(row["h"],))
    columns = ("k0", "start", "n", "p0")
    expected = closed_windows(twice, *asked).select(*columns)
    assert sorted(forwarded.select(*columns).collect()) == sorted(expected.collect())
    (sent,) = exchanges(forwarded)
    # If the others had to be merged, too, this would be wrong.
    wrong = closed_windows(twice, *asked, split=()).where("k0 = 2").count()
    assert wrong == 2 * forwarded.where("k0 = 2").count()
    assert sent


def test_a_steady_number_is_not_part_of_the_plan_that_is_compiled(panes: DataFrame) -> None:
    assert panes.where(f"pane < {steady(40, 'pane')}").count() == 20
    one, other = (
        panes.where(f"pane < {steady(bound, 'pane')}")._jdf.queryExecution().debug().codegenToSeq()
        for bound in (40, 50)
    )
    assert one.size() == other.size() > 0
    assert all(one.apply(i)._2() == other.apply(i)._2() for i in range(one.size()))
