"""A frame laid out level: `df.repartition(lanes, key)` with a plan in place of the hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from trimtab.histogram import Histogram
from trimtab.partitioners import Given
from trimtab.spark.columns import Keys, key_columns
from trimtab.spark.routing.route import route_of


def repartition(
    df: DataFrame,
    lanes: int,
    key: Keys,
    partitioner: Given = "trim",
    *,
    parameters: Mapping[str, Any] | None = None,
    split: bool = False,
    histogram: Histogram | None = None,
) -> DataFrame:
    """Lay `df` out on `lanes` partitions by a plan: the same rows, other places.

    The keys are counted once, now; the rows move when the result is used. A task that runs again
    sends every row where it went the first time. For use in a chain:
    `df.transform(tt.repartition, 32, "user")`.

    Parameters
    ----------
    df
        The frame.
    lanes
        Number of partitions, 1 or more.
    key
        Key column or columns, by name or as expressions.
    partitioner, parameters
        Registry name with the parameters of the class it names, or a planner, router or plan.
    split
        Whether the rows of one key may be on several partitions. Needed by partitioners that split.
    histogram
        What is known of the keys; by default they are counted in one pass over `df`.

    Examples
    --------
    >>> ids = spark.range(0, 100, numPartitions=2)
    >>> clicks = ids.selectExpr("if(id < 60, 'ann', 'user ' || id) as user", "id")
    >>> level = tt.repartition(clicks, 4, "user", split=True)
    >>> rows = level.groupBy(F.spark_partition_id()).count()
    >>> sorted(row["count"] for row in rows.collect())
    [23, 23, 25, 29]
    """
    keys = key_columns(df, key)
    route = route_of(
        df, keys, lanes, partitioner, split=split, parameters=parameters, histogram=histogram
    )
    return route.sent(df, keys)


def explain_repartition(
    df: DataFrame,
    lanes: int,
    key: Keys,
    partitioner: Given = "trim",
    *,
    parameters: Mapping[str, Any] | None = None,
    split: bool = False,
    histogram: Histogram | None = None,
    names: str = "plain",
) -> str:
    """Say what `repartition` would do with the same arguments, and why.

    A histogram that is given may name its keys; `names="hash"` shows their hashes instead.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
    >>> print(tt.explain_repartition(clicks, 4, "user", split=True))
    repartition: partitioner 'trim' on 4 lanes, 1 shuffle of the rows, hot keys split
    expected max/mean 1.000; by plain hashing 2.760; at best 1.000
    the heaviest lane takes 64% less time than by plain hashing
    ...
    """
    keys = key_columns(df, key)
    route = route_of(
        df, keys, lanes, partitioner, split=split, parameters=parameters, histogram=histogram
    )
    return route.explain("repartition", shuffles=1, names=names)
