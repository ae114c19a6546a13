"""Partitioned writes of skewed data: several writers for a hot output partition, one elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from trimtab._checks import lane_count, one_of
from trimtab.errors import InvalidArgument
from trimtab.partitioners import Given
from trimtab.spark.batch.decision import (
    DEFAULT_PARTITIONER,
    SPARK,
    decide_write,
    default_lanes,
)
from trimtab.spark.batch.fewer_partitions import fewer_partitions
from trimtab.spark.batch.key_plan import GivenPlan, KnownHistogram, known_histogram, known_plan
from trimtab.spark.columns import key_columns, quoted
from trimtab.spark.routing.route import Route, route_of
from trimtab.spark.session_facts import shuffle_partitions, slots_of
from trimtab.spark.spark_text import plan_facts


def write_balanced(
    df: DataFrame,
    path: str,
    partition_by: str | Sequence[str],
    *,
    format: str = "parquet",
    mode: str = "error",
    lanes: int | None = None,
    partitioner: Given | None = None,
    parameters: Mapping[str, Any] | None = None,
    unit: str = "rows",
    histogram: KnownHistogram | None = None,
    plan: GivenPlan | None = None,
    **options: Any,
) -> Route:
    """Write `df` partitioned by some columns, in level tasks.

    Unless a partitioner, lanes, a plan or a histogram is given, it decides first whether that is
    expected to pay; otherwise the rows are sent by Spark's own hash of the same columns, one task
    for each value, on fewer partitions where the session has far too many for the frame.

    Where it acts, an output partition that holds more than `1 / lanes` of the weight is written by
    as many tasks as its share asks for, one file each; every other by one task, as one file. So
    there are at most `distinct values + 2 x lanes` files, where a write straight from `p` input
    partitions can give `p` files for every value.

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
        Number of writing tasks; by default as many as there are task slots, and more where the
        frame has more than 128 MB for each.
    partitioner, parameters
        Registry name with the parameters of the class it names, or a planner, router or plan;
        splitting keys is allowed here. By default `trim`, if anything is laid out.
    unit
        What makes a partition heavy: its "rows" or its "bytes".
    histogram
        What is known of the output partitions, or the file it was saved to; by default they are
        counted in one pass.
    plan
        A plan of an earlier run, made with `split=True`: what `plan_keys` gave, or its file.

    Returns
    -------
    Route
        What was decided; its `explain` says it in words.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'de', 'c' || id % 9) as land, id from range(100)")
    >>> route = tt.write_balanced(clicks, tmp + "/clicks", "land", lanes=4)
    >>> route.splits_keys, round(route.gain(), 2)
    (True, 2.74)
    >>> spark.read.parquet(tmp + "/clicks").where("land = 'de'").count()
    60
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
    known = known_histogram(histogram)
    if plan is not None:
        if partitioner is not None or parameters is not None or histogram is not None:
            raise InvalidArgument(
                "a plan says where every key goes; leave partitioner, parameters and histogram out"
            )
        found = known_plan(plan, df, keys)
        partitioner, known = found.plan, found.histogram
    told = (lanes, partitioner, parameters, known)
    if all(part is None for part in told):
        decision = decide_write(df, keys)
        if decision.way == SPARK:
            session = df.sparkSession
            # Who writes also waits for the disk: every slot is wanted, not every processor only.
            few = fewer_partitions(session, plan_facts(df), least=slots_of(session))
            columns = map(quoted, names)
            sent = df.repartition(*columns) if few is None else df.repartition(few, *columns)
            _written(sent, names, path, format, mode, options)
            count = few or shuffle_partitions(session)
            return Route(count, "Spark's hash", False, why=str(decision))
    made_for = getattr(partitioner, "lanes", None) or default_lanes(df)
    route = route_of(
        df,
        keys,
        made_for if lanes is None else lane_count(lanes),
        partitioner or DEFAULT_PARTITIONER,
        split=True,
        parameters=parameters,
        histogram=known,
        unit=unit,
    )
    _written(route.sent(df, keys), names, path, format, mode, options)
    return route


def _written(
    df: DataFrame,
    names: list[str],
    path: str,
    format: str,
    mode: str,
    options: Mapping[str, Any],
) -> None:
    df.write.partitionBy(*names).save(path, format=format, mode=mode, **options)
