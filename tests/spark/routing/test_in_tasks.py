from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F

from trimtab import Histogram, hash_keys, router
from trimtab.spark.columns import key_columns
from trimtab.spark.routing.in_tasks import route_in_tasks
from trimtab.spark.row_hash import row_hash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


def skewed(spark: SparkSession, rows: int = 3000) -> DataFrame:
    key = F.when(F.col("id") % 3 == 0, F.lit("hot")).otherwise((F.col("id") % 97).cast("string"))
    return spark.range(0, rows, numPartitions=3).select("id", key.alias("k"))


def routed(df: DataFrame, **parameters: object) -> DataFrame:
    return route_in_tasks(
        df, "lane", key_columns(df, "k").hash, row_hash(df), router("pkg", **parameters)
    )


@pytest.mark.smoke
def test_each_input_partition_is_routed_by_an_instance_of_its_own(spark: SparkSession) -> None:
    df = skewed(spark)
    found = (
        routed(df, lanes=5, choices=2, seed=3)
        .select("*", F.spark_partition_id().alias("at"), F.xxhash64("k").alias("h"))
        .toPandas()
    )
    assert sorted(found["id"]) == list(range(3000))
    for _, part in found.groupby("at"):
        expected = router("pkg", lanes=5, choices=2, seed=3).route(part["h"].to_numpy())
        np.testing.assert_array_equal(part["lane"].to_numpy(), expected)


def test_rows_in_another_order_get_the_same_lanes(spark: SparkSession) -> None:
    df = skewed(spark).repartition(2, "k")
    forth = routed(df.sortWithinPartitions("id"), lanes=5).toPandas().set_index("id")
    back = routed(df.sortWithinPartitions(F.desc("id")), lanes=5).toPandas().set_index("id")
    assert forth["lane"].sort_index().equals(back["lane"].sort_index())


def test_only_hashes_go_to_python(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    routed(skewed(spark), lanes=5).explain()
    (call,) = [line for line in capsys.readouterr().out.splitlines() if "ArrowEvalPython" in line]
    assert call.count("__trimtab_hash") >= 1
    assert "id#" not in call.split("[", 1)[1].split("]")[0]


def test_a_router_that_has_learned_something_takes_it_along(spark: SparkSession) -> None:
    df = skewed(spark).coalesce(1)
    learned = router("pkg", lanes=5, seed=3)
    learned.route(hash_keys([f"other {n % 7}" for n in range(1000)]))
    before = learned.state()
    found = (
        route_in_tasks(df, "lane", key_columns(df, "k").hash, row_hash(df), learned)
        .select("lane", F.xxhash64("k").alias("h"))
        .toPandas()
    )
    expected = type(learned).restore(before).route(found["h"].to_numpy())
    np.testing.assert_array_equal(found["lane"].to_numpy(), expected)
    fresh = router("pkg", lanes=5, seed=3).route(found["h"].to_numpy())
    assert not np.array_equal(expected, fresh)


def test_routers_are_told_the_keys_before_their_first_row(spark: SparkSession) -> None:
    # Daltons that cooperate call no key hot before their first round, unless they are told.
    df = skewed(spark)
    start = router("dalton", lanes=5, slides=1, cooperate=True)
    hot, cold = hash_keys(["hot"]), hash_keys([str(n) for n in range(97)])
    counts = {int(hot[0]): 1000.0, **{int(key): 20.0 for key in cold}}

    def lanes_of_the_hot_key(told: Histogram | None) -> int:
        made = route_in_tasks(
            df, "lane", key_columns(df, "k").hash, row_hash(df), start, expected=told
        )
        return made.where("k = 'hot'").select("lane").distinct().count()

    assert lanes_of_the_hot_key(None) == 1
    assert lanes_of_the_hot_key(Histogram.from_counts(counts)) > 1
