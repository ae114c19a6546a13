"""What Spark does with an aggregate by itself: combine it, split it, or neither."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from trimtab.errors import SplitKeysRefused
from trimtab.spark.spark_text import (
    column_text,
    grows,
    is_distinct,
    physical_plan,
    python_aggregate,
)

WORTH_MOVING = 2.5
"""How many times less the fullest lane must hold for growing aggregates to be laid out by key.
Spark sends them as lists, one of each key from each input partition; rows that move first, to be
listed where they arrive, take about so many times as long."""


def any_grows(aggregates: Sequence[Column]) -> bool:
    """Tell whether one of the aggregates has parts as large as the rows they were made of."""
    return any(grows(column_text(column)) for column in aggregates)


def combines(aggregates: Sequence[Column], aggregated: DataFrame) -> bool:
    """Tell whether Spark's own aggregation is level however hot a key is.

    It is where every input partition first combines its rows of a key to one small part. Then a
    layout by key would only move more rows.
    """
    if any_grows(aggregates):
        return False
    plan = physical_plan(aggregated)
    return python_aggregate(plan) is None and not is_distinct(plan)


def refuse_unsplittable(aggregated: DataFrame) -> None:
    """Refuse, by name, an aggregate that Spark cannot compute in parts.

    Spark computes every aggregate of its own in two steps, parts and then their merge. What users
    write in Python for a whole group it cannot.
    """
    name = python_aggregate(physical_plan(aggregated))
    if name is not None:
        raise SplitKeysRefused(
            f"aggregate {name!r} needs all rows of a key in one place, and this "
            "partitioner splits keys; use partitioner='kip', or 'hash', or applyInPandas with merge"
        )
