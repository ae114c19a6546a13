"""Spark's own plans on fewer partitions: the same results, where the session has too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from tests.spark.frames import rows
from trimtab.spark.batch.fewer_partitions import fewer_partitions
from trimtab.spark.batch.group import group_by
from trimtab.spark.batch.write import write_balanced
from trimtab.spark.session_facts import cores_of
from trimtab.spark.spark_text import PlanFacts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module", autouse=True)
def many_partitions(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before or "200")


@pytest.fixture(scope="module")
def events(spark: SparkSession, many_partitions: None) -> DataFrame:
    return spark.range(0, 900, numPartitions=3).selectExpr(
        "if(id % 10 = 0, null, id % 7) AS k", "id % 5 AS x"
    )


def facts(size: float | None, count: float | None = None, quick: bool = True) -> PlanFacts:
    return PlanFacts(size, count, quick, broadcasts=False)


def test_small_frames_get_few_partitions_and_large_ones_those_of_the_session(
    spark: SparkSession,
) -> None:
    cores = cores_of(spark)
    assert fewer_partitions(spark, facts(1e6)) == 2 * cores
    assert fewer_partitions(spark, facts(40 * 2.0**25)) == 40
    # Four times as few would be needed, and 51 are not that.
    assert fewer_partitions(spark, facts(50 * 2.0**25)) == 50
    assert fewer_partitions(spark, facts(51 * 2.0**25)) is None
    assert fewer_partitions(spark, facts(20 * 2.0**25), facts(40 * 2.0**25)) is None


@pytest.mark.parametrize(
    ("known", "combined"),
    [
        pytest.param(facts(None), False, id="the size is not known"),
        pytest.param(facts(1e6, quick=False), False, id="the size is a guess"),
        pytest.param(facts(1e6), True, id="rows that combine, nobody knows how many"),
        pytest.param(facts(1e6, 1e9), True, id="very many rows that combine"),
    ],
)
def test_what_is_not_known_stays_as_it_is(
    spark: SparkSession, known: PlanFacts, combined: bool
) -> None:
    assert fewer_partitions(spark, known, combined=combined) is None


MOVED = "Spark's own aggregation, on {partitions} partitions, as its size"
COMBINED = "Spark's own aggregation, its rows read and combined in {cores} tasks"


@pytest.mark.parametrize(
    ("aggregate", "adaptive", "said"),
    [
        pytest.param(F.sum, "true", COMBINED, id="combined first"),
        pytest.param(F.sum, "false", MOVED, id="nobody puts together what was combined"),
        pytest.param(F.countDistinct, "true", MOVED, id="distinct"),
        pytest.param(lambda x: F.sort_array(F.collect_list(x)), "true", MOVED, id="lists"),
    ],
)
def test_aggregates_are_sparks_own_in_few_pieces(
    spark: SparkSession, events: DataFrame, aggregate: object, adaptive: str, said: str
) -> None:
    assert callable(aggregate)
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    words = group_by(events, "k").explain(aggregate("x"))
    ours = group_by(events, "k").agg(aggregate("x").alias("a"))
    theirs = events.groupBy("k").agg(aggregate("x").alias("a"))
    assert ours.schema == theirs.schema
    assert rows(ours) == rows(theirs)
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    cores = cores_of(spark)
    assert said.format(cores=cores, partitions=2 * cores) in words
    assert "200" in words


def test_rows_that_are_apart_already_do_not_move_again(events: DataFrame) -> None:
    apart = events.repartition(3, "k").cache()
    apart.count()
    assert "1 shuffle" in group_by(apart, "k").explain(F.sum("x"))


def test_a_key_that_is_an_expression_is_left_alone(events: DataFrame) -> None:
    assert "1 shuffle" in group_by(events, F.col("k") + 1).explain(F.sum("x"))


def test_functions_in_python_are_called_in_as_many_tasks_as_ever(events: DataFrame) -> None:
    doubled = F.udf(lambda x: 2 * x, "long")
    assert "1 shuffle" in group_by(events, "k").explain(F.sum(doubled("x")))


def test_a_small_write_has_few_tasks(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    route = write_balanced(events, str(tmp_path / "out"), "k")
    assert route.lanes == 2 * cores_of(spark)
    read = spark.read.parquet(str(tmp_path / "out")).selectExpr("cast(k AS long) AS k", "x")
    assert rows(read) == rows(events)
