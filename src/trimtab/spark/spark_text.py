"""What Spark does with an aggregate by itself: combine it, split it, or neither."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from trimtab.errors import SplitKeysRefused

_PYTHON = re.compile(r"(?:ArrowAggregatePython|AggregateInPandas)[^\[]*\[[^\]]*\],\s*\[(\w+)\(")
"""How a physical plan shows an aggregate written in Python: it needs all rows of a group."""

_GROWING = re.compile(
    r"\b(?:collect_list|collect_set|array_agg|listagg|string_agg|percentile|percentile_cont|"
    r"percentile_disc|median|mode|histogram_numeric)\s*\(",
    re.IGNORECASE,
)
"""Aggregates whose parts are as large as the rows they were made of."""

WORTH_MOVING = 2.5
"""How many times less the fullest lane must hold for growing aggregates to be laid out by key.
Spark sends them as lists, one of each key from each input partition; rows that move first, to be
listed where they arrive, take about so many times as long."""

_DISTINCT = re.compile(r"\(distinct ")
"""How a physical plan shows an aggregate of distinct values; the column itself does not show it."""


def physical_plan(df: DataFrame) -> str:
    """Return the physical plan as text, on Spark Classic and on Spark Connect."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        df.explain()
    return text.getvalue()


def grows(aggregates: Sequence[Column]) -> bool:
    """Tell whether one of the aggregates has parts as large as the rows they were made of."""
    return any(_GROWING.search(str(column)) for column in aggregates)


def combines(aggregates: Sequence[Column], aggregated: DataFrame) -> bool:
    """Tell whether Spark's own aggregation is level however hot a key is.

    It is where every input partition first combines its rows of a key to one small part. Then a
    layout by key would only move more rows.
    """
    if grows(aggregates):
        return False
    plan = physical_plan(aggregated)
    return not (_PYTHON.search(plan) or _DISTINCT.search(plan))


def refuse_unsplittable(aggregated: DataFrame) -> None:
    """Refuse, by name, an aggregate that Spark cannot compute in parts.

    Spark computes every aggregate of its own in two steps, parts and then their merge. What users
    write in Python for a whole group it cannot.
    """
    found = _PYTHON.search(physical_plan(aggregated))
    if found:
        raise SplitKeysRefused(
            f"aggregate {found.group(1)!r} needs all rows of a key in one place, and this "
            "partitioner splits keys; use partitioner='kip', or 'hash', or applyInPandas with merge"
        )
