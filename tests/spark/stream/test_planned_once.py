"""Jobs that are planned once: what the session says meanwhile, and afterwards."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.frames import session_setting
from trimtab.spark.spark_text import physical_plan
from trimtab.spark.stream.planned_once import ADAPTIVE, PARTITIONS, planned_once

pytestmark = pytest.mark.spark


@pytest.fixture
def of_query(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set(ADAPTIVE, "true")
    session.conf.set(PARTITIONS, "5")
    return session


def settings(session: SparkSession) -> tuple[str | None, str | None]:
    return session.conf.get(ADAPTIVE), session.conf.get(PARTITIONS)


def test_an_exchange_is_planned_once_and_for_so_many_tasks(of_query: SparkSession) -> None:
    rows = of_query.range(100).selectExpr("id % 7 AS k")
    with planned_once(of_query, 3):
        counted = rows.groupBy("k").count()
        plan = physical_plan(counted)
        assert counted.rdd.getNumPartitions() == 3
    assert "AdaptiveSparkPlan" not in plan
    assert "AdaptiveSparkPlan" in physical_plan(rows.groupBy("k").count())


def test_the_session_is_as_it_was_afterwards_also_when_the_job_fails(
    of_query: SparkSession,
) -> None:
    def job() -> None:
        with planned_once(of_query, 2):
            assert settings(of_query) == ("false", "2")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        job()
    assert settings(of_query) == ("true", "5")


def test_no_job_gets_more_tasks_than_the_session_allows(of_query: SparkSession) -> None:
    with planned_once(of_query, 16):
        assert settings(of_query) == ("false", "5")


def test_nothing_changes_where_spark_is_to_choose(of_query: SparkSession) -> None:
    with planned_once(of_query, None):
        assert settings(of_query) == ("true", "5")


def test_what_the_user_has_switched_off_is_left_alone(of_query: SparkSession) -> None:
    with session_setting(of_query, ADAPTIVE, "false"), planned_once(of_query, 2):
        assert settings(of_query) == ("false", "5")
