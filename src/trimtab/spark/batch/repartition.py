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
    `df.transform(trimtab.spark.batch.repartition, 32, "user")`.

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
) -> str:
    """Say what `repartition` would do with the same arguments, and why."""
    keys = key_columns(df, key)
    route = route_of(
        df, keys, lanes, partitioner, split=split, parameters=parameters, histogram=histogram
    )
    return route.explain("repartition", shuffles=1)
