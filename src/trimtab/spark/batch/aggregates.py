"""What Spark does with an aggregate by itself: combine it, split it, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab.errors import InvalidArgument, SplitKeysRefused
from trimtab.spark.columns import quoted
from trimtab.spark.spark_text import (
    column_text,
    grows,
    is_distinct,
    physical_plan,
    python_aggregate,
)

if TYPE_CHECKING:
    from pyspark.sql import GroupedData

WORTH_MOVING = 2.5
"""How many times less the fullest lane must hold for growing aggregates to be laid out by key.
Spark sends them as lists, one of each key from each input partition; rows that move first, to be
listed where they arrive, take about so many times as long."""

_OTHER_NAMES = {"average": "avg", "mean": "avg", "std": "stddev", "size": "count"}
"""Names that Spark takes in a dictionary of aggregates, and the functions that they mean."""


def aggregate_columns(
    df: DataFrame, by_spark: GroupedData, aggregates: tuple[Any, ...]
) -> list[Column]:
    """Return what `agg` was given as columns; those of a dictionary in Spark's order and names.

    Parameters
    ----------
    df, by_spark
        The frame, and how Spark groups it.
    aggregates
        Columns, or one dictionary from columns to names of functions.
    """
    if len(aggregates) == 1 and isinstance(aggregates[0], Mapping):
        pairs = dict(aggregates[0])
        columns = {}
        for name, function in pairs.items():
            label = by_spark.agg({name: function}).columns[-1]
            called = _OTHER_NAMES.get(function.lower(), function)
            columns[label] = F.expr(f"{called}({as_named(df, name)})").alias(label)
        order = by_spark.agg(pairs).columns[-len(pairs) :]
        return [columns[label] for label in order]
    if not aggregates or not all(isinstance(column, Column) for column in aggregates):
        raise InvalidArgument(
            "agg takes aggregate columns such as F.sum('x'), or one dictionary; got "
            f"{', '.join(map(repr, aggregates)) or 'none'}"
        )
    return list(aggregates)


def as_named(df: DataFrame, name: str) -> str:
    """Return the SQL text of a column that a user has named: `*`, or a field of a struct, too."""
    return quoted(name) if name in df.columns else name


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
