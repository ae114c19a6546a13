"""Rows where an operation wants them: on the lanes of a plan, or where the source has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F

from trimtab.keys import hash_keys
from trimtab.plan import Plan
from trimtab.spark.counting.observed import Watch
from trimtab.spark.routing.route import Route
from trimtab.spark.stream.operations.base import Wanted
from trimtab.spark.stream.placing import Placing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

LANES = 3


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.range(0, 90, numPartitions=2).selectExpr("id % 9 AS k", "id AS x")


def watch() -> Watch:
    return Watch(LANES, hosts=0, stride=1, count_pairs=False)


def test_rows_are_on_the_lanes_of_their_plan_and_were_counted(events: DataFrame) -> None:
    plan = Plan(LANES, {}, np.arange(LANES, dtype=np.int32))
    placing = Placing(events.schema, ("k",), names_keys=True, spread=None)
    seen = watch()
    wanted = Wanted(columns={"twice": "2 * x"})
    placed = placing.placed(events, Route(LANES, "hash", False, plan), wanted, seen, None)
    assert placed.lane is not None
    # Nothing of ours is left in the rows but what was asked for.
    assert placed.frame.columns == ["k", "x", "twice", placed.lane]
    found = placed.frame.select("k", placed.lane, F.spark_partition_id().alias("at")).collect()
    expected = plan.route(hash_keys(np.array([row.k for row in found], dtype=np.int64)))
    assert [row[1] for row in found] == [row["at"] for row in found] == expected.tolist()
    figures = seen.read()
    assert figures is not None
    assert figures.loads.tolist() == np.bincount(expected, minlength=LANES).tolist()


def test_rows_that_are_not_wanted_on_lanes_stay(events: DataFrame) -> None:
    placing = Placing(events.schema, ("k",), names_keys=True, spread=None)
    wanted = Wanted(on_lanes=False, heavy_from=5)
    placed = placing.placed(events, Route(LANES, "hash", False, Plan(LANES)), wanted, watch(), None)
    assert placed.lane is None
    assert placed.frame.columns == events.columns
