"""Partitioned writes of skewed data: several writers for a hot output partition, one elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from trimtab._checks import lane_count, one_of
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.spark.batch.group import shuffle_partitions
from trimtab.spark.columns import key_columns
from trimtab.spark.counting.counted import collect_statistics
from trimtab.spark.routing.route import HOSTS_PER_LANE, Partitioner, RoutingPlan, routing_plan


def write_balanced(
    df: DataFrame,
    path: str,
    partition_by: str | Sequence[str],
    *,
    format: str = "parquet",
    mode: str = "error",
    lanes: int | None = None,
    partitioner: Partitioner = "trim",
    unit: str = "rows",
    histogram: Histogram | None = None,
    **options: Any,
) -> RoutingPlan:
    """Write `df` partitioned by some columns, in level tasks.

    An output partition that holds more than `1 / lanes` of the weight is written by as many tasks
    as its share asks for, one file each; every other by one task, as one file. So there are at
    most `distinct values + 2 x lanes` files, where a write straight from `p` input partitions can
    give `p` files for every value.

    Parameters
    ----------
    df
        The frame.
    path
        Directory to write to.
    partition_by
        Column or columns that become directories.
    format, mode, options
        As for Spark's `DataFrameWriter.save`.
    lanes
        Number of writing tasks; by default `spark.sql.shuffle.partitions`.
    partitioner
        Registry name, planner, router or plan; splitting keys is allowed here.
    unit
        What makes a partition heavy: its "rows" or its "bytes".
    histogram
        What is known of the output partitions; by default they are counted in one pass.

    Returns
    -------
    RoutingPlan
        What was decided; its `explain` says it in words.
    """
    one_of("unit", unit, ("rows", "bytes"))
    names = [partition_by] if isinstance(partition_by, str) else list(partition_by)
    if not all(isinstance(name, str) and name in df.columns for name in names):
        raise InvalidArgument(
            f"partition_by must name columns of the frame; got {partition_by!r}; it has "
            f"{', '.join(map(repr, df.columns))}"
        )
    if len(names) >= len(df.columns):
        raise InvalidArgument(
            "partition_by names every column of the frame; leave one that is written to the files"
        )
    keys = key_columns(df, names)
    count = shuffle_partitions(df) if lanes is None else lane_count(lanes)
    if histogram is None and unit != "rows":
        histogram = collect_statistics(df, keys, hosts=HOSTS_PER_LANE * count, unit=unit).histogram
    routing = routing_plan(df, keys, count, partitioner, split=True, histogram=histogram)
    routing.moved(df, keys).write.partitionBy(*names).save(
        path, format=format, mode=mode, **options
    )
    return routing
