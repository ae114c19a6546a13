"""A frame laid out level: `df.repartition(lanes, key)` with a plan in place of the hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from trimtab.errors import InvalidArgument
from trimtab.partitioners import Given
from trimtab.spark.batch.key_plan import (
    GivenPlan,
    KnownHistogram,
    known_histogram,
    known_plan,
)
from trimtab.spark.columns import KeyColumns, Keys, key_columns
from trimtab.spark.routing.route import Route, route_of


def repartition(
    df: DataFrame,
    lanes: int,
    key: Keys,
    partitioner: Given = "trim",
    *,
    parameters: Mapping[str, Any] | None = None,
    split: bool = False,
    histogram: KnownHistogram | None = None,
    plan: GivenPlan | None = None,
    count: str = "auto",
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
        What is known of the keys, or the file it was saved to; by default they are counted in one
        pass over `df`.
    plan
        A plan of an earlier run, in place of a partitioner: what `plan_keys` gave, or its file.
    count
        Which rows are counted: "all"; or only the "first" ones of the input partitions, 1,500 for
        each lane, which is as level to within about a tenth where the first rows are like the
        others; where they are not, it is hardly better than a hash. By default the first rows
        of every input partition, 2,000 for each lane and 65,536 at least, which is as level to
        within 1.06 on 16 lanes and 1.09 on 64: if a plan from one half of them does not fit the
        other half all are counted, and so they are where the first rows are not quick to have.

    Examples
    --------
    >>> ids = spark.range(0, 100, numPartitions=2)
    >>> clicks = ids.selectExpr("if(id < 60, 'ann', 'user ' || id) as user", "id")
    >>> level = tt.repartition(clicks, 4, "user", split=True)
    >>> rows = level.groupBy(F.spark_partition_id()).count()
    >>> sorted(row["count"] for row in rows.collect())
    [24, 24, 25, 27]
    """
    keys = key_columns(df, key)
    route = _route(
        df,
        keys,
        lanes,
        partitioner,
        plan,
        histogram,
        split=split,
        parameters=parameters,
        count=count,
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
    histogram: KnownHistogram | None = None,
    plan: GivenPlan | None = None,
    count: str = "auto",
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
    route = _route(
        df,
        keys,
        lanes,
        partitioner,
        plan,
        histogram,
        split=split,
        parameters=parameters,
        count=count,
    )
    return route.explain("repartition", shuffles=1, names=names)


def _route(
    df: DataFrame,
    keys: KeyColumns,
    lanes: int,
    given: Given,
    plan: GivenPlan | None,
    known: KnownHistogram | None,
    **how: Any,
) -> Route:
    histogram = known_histogram(known)
    if plan is not None:
        if given != "trim" or how["parameters"] is not None:
            raise InvalidArgument(
                "a plan says where every key goes; leave partitioner and parameters out"
            )
        found = known_plan(plan, df, keys)
        given = found.plan
        histogram = histogram if found.histogram is None else found.histogram
    return route_of(df, keys, lanes, given, histogram=histogram, **how)
