"""The queries of the papers' evaluations: through Trimtab they equal plain Spark's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import trimtab.spark as tt
from trimtab.workloads.cluster_trace import TaskEvents
from trimtab.workloads.clustering import greedy, vote
from trimtab.workloads.laws import tweet_words
from trimtab.workloads.taxi import TaxiTrips
from trimtab.workloads.tpch import TpcH
from trimtab.workloads.web import WebPages

pytestmark = pytest.mark.spark

LANES = 4
Grouped = Callable[..., Any]
"""`df, *keys` to something with Spark's verbs for groups."""


def plainly(df: Any, *keys: str) -> Any:
    return df.groupBy(*keys)


def level(df: Any, *keys: str) -> Any:
    return tt.group_by(df, *keys, lanes=LANES)


@pytest.fixture(scope="module")
def frames(spark: Any) -> dict[str, Any]:
    tables = TpcH(scale=0.001, seed=1)
    hosts, seconds = WebPages(hosts=50).pages(2000, seed=1)
    random = np.random.default_rng(1)
    columns: dict[str, dict[str, Any]] = {
        "trips": TaxiTrips(taxis=50, side=8).trips(3000, seed=1),
        "events": TaskEvents(most_tasks=200).events(3000, seed=1),
        "customers": tables.customers(),
        "orders": tables.orders(),
        "items": tables.line_items(),
        "pages": {"host": hosts, "seconds": seconds, "page": np.arange(2000)},
        "words": {
            "word": tweet_words(0.001).ids(3000, seed=1),
            "label": random.integers(0, 2, 3000),
        },
        "points": {
            "code": random.integers(0, 6, 300) // 2,
            "value": np.round(random.normal(0, 10, 300), 3),
        },
    }
    made = {name: spark.createDataFrame(pd.DataFrame(c)) for name, c in columns.items()}
    return {name: frame.repartition(3).cache() for name, frame in made.items()}


def frequent_routes(frames: dict[str, Any], grouped: Grouped) -> Any:
    return grouped(frames["trips"], "pickup", "dropoff").agg({"*": "count"})


def profitable_areas(frames: dict[str, Any], grouped: Grouped) -> Any:
    from pyspark.sql import functions as F

    trips = frames["trips"]
    profit = grouped(trips, "pickup").agg(F.median(F.col("fare") + F.col("tip")).alias("profit"))
    last = grouped(trips, "medallion").agg(F.max_by("dropoff", "dropoff_time").alias("cell"))
    empty = grouped(last, "cell").agg(F.count("*").alias("empty"))
    return profit.join(empty, profit["pickup"] == empty["cell"])


def cpu_by_class(frames: dict[str, Any], grouped: Grouped) -> Any:
    return grouped(frames["events"], "scheduling_class").agg({"cpu": "sum"})


def cpu_by_job(frames: dict[str, Any], grouped: Grouped) -> Any:
    return grouped(frames["events"], "job").agg({"cpu": "avg"})


def tpch_1(frames: dict[str, Any], grouped: Grouped) -> Any:
    from pyspark.sql import functions as F

    shipped = frames["items"].where("shipdate <= 2436")  # 1998-09-02
    price = F.col("extendedprice") * (1 - F.col("discount"))
    return grouped(shipped, "returnflag", "linestatus").agg(
        F.sum("quantity").alias("quantity"),
        F.sum(price).alias("price"),
        F.sum(price * (1 + F.col("tax"))).alias("charge"),
        F.avg("discount").alias("discount"),
        F.count("*").alias("orders"),
    )


def tpch_3(frames: dict[str, Any], grouped: Grouped) -> Any:
    from pyspark.sql import functions as F

    customers = frames["customers"].where("segment = 'BUILDING'").select("custkey")
    orders = frames["orders"].where("orderdate < 1169")
    items = frames["items"].where("shipdate > 1169").select("orderkey", "extendedprice", "discount")
    join = tt.join if grouped is level else (lambda a, b, key, how: a.join(b, key, how))
    found = join(items, join(orders, customers, "custkey", "inner"), "orderkey", "inner")
    revenue = F.sum(F.col("extendedprice") * (1 - F.col("discount"))).alias("revenue")
    return grouped(found, "orderkey", "orderdate").agg(revenue)


def tpch_6(frames: dict[str, Any], grouped: Grouped) -> Any:
    from pyspark.sql import functions as F

    items = frames["items"].where(
        "shipdate >= 731 and shipdate < 1096 and discount between 0.05 and 0.07 and quantity < 24"
    )
    return grouped(items).agg(F.sum(F.col("extendedprice") * F.col("discount")).alias("revenue"))


def naive_bayes(frames: dict[str, Any], grouped: Grouped) -> Any:
    """Return how often each word was seen with each label: all that the classifier is."""
    return grouped(frames["words"], "word", "label").count()


def best_pages_of_hosts(frames: dict[str, Any], grouped: Grouped) -> Any:
    def scored(group: pd.DataFrame) -> pd.DataFrame:
        ordered = group.sort_values(["seconds", "page"])
        weights = np.arange(1, len(ordered) + 1)
        score = float((ordered["page"].to_numpy() / weights).sum())
        return pd.DataFrame({"host": [ordered["host"].iloc[0]], "score": [score]})

    return grouped(frames["pages"], "host").applyInPandas(scored, "host long, score double")


def clusters(frames: dict[str, Any], grouped: Grouped) -> Any:
    def clustered(group: pd.DataFrame) -> pd.DataFrame:
        values = np.sort(group["value"].to_numpy())
        found = greedy(values, vote(values, 5.0), 5.0)
        return pd.DataFrame({"code": group["code"].iloc[0], "value": values, "cluster": found})

    schema = "code long, value double, cluster long"
    return grouped(frames["points"], "code").applyInPandas(clustered, schema)


@pytest.mark.parametrize(
    "query",
    [
        # The same verbs on other columns: the first three have shown them.
        *(tpch_3, profitable_areas, clusters),
        *(
            pytest.param(query, marks=pytest.mark.exhaustive)
            for query in (
                *(frequent_routes, cpu_by_class, cpu_by_job, tpch_1, tpch_6),
                *(naive_bayes, best_pages_of_hosts),
            )
        ),
    ],
    ids=lambda query: query.__name__,
)
def test_a_query_of_the_papers_equals_plain_spark(
    query: Callable[..., Any], frames: dict[str, Any]
) -> None:
    found, expected = (query(frames, grouped).toPandas() for grouped in (level, plainly))
    columns = list(expected.columns)
    assert list(found.columns) == columns
    assert len(expected)
    ordered = [
        frame.sort_values([c for c in columns if frame[c].dtype.kind in "iOf"]).reset_index(
            drop=True
        )
        for frame in (found.round(6), expected.round(6))
    ]
    pd.testing.assert_frame_equal(*ordered, rtol=1e-9)
