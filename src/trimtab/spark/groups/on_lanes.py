"""A function of each group on lanes: in one pass where that shows the same, else by Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.spark.columns import quoted, spare_names
from trimtab.spark.counting.lane_clock import LaneClock
from trimtab.spark.groups.hidden_columns import without_columns
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.one_pass import apply_per_group, in_one_pass
from trimtab.spark.routing.compiled import lay_out
from trimtab.spark.routing.route import Route


def apply_on_lanes(
    keyed: KeyedFrame,
    route: Route,
    rows: DataFrame,
    method: str,
    func: Callable[..., Any],
    schema: T.StructType | str,
    hidden: Sequence[str] = (),
    clock: LaneClock | None = None,
) -> DataFrame:
    """Lay rows out and apply a function to every group of every lane.

    Parameters
    ----------
    keyed, route
        The frame with its key, and where its rows go.
    rows
        The rows of the frame, perhaps with more columns.
    method, func, schema
        Spark's name of the call, and what it takes.
    hidden
        Columns that the function must not see.
    clock
        Is told how long each lane took and where, if it is one pass over each; Spark's own call
        tells nothing.
    """
    if in_one_pass(rows.sparkSession, rows.schema, keyed.names, func, method):
        on_lanes = route.sent(rows, keyed.key)
        return apply_per_group(on_lanes, keyed.names, hidden, func, schema, clock)
    (lane,) = spare_names(rows.columns, "lane")
    lane_of_row = route.lane_of(keyed.key)
    if lane_of_row is not None:
        # An expression among the keys is not a column of the group: the function is given its
        # rows as they are, and our lane is not converted for every group.
        laid_out = lay_out(rows, route.lanes, lane_of_row)
        grouped = laid_out.groupBy(lane_of_row.alias(lane), *keyed.grouping)
        inner = without_columns(func, hidden, method)
    else:
        laid_out = route.laid_out(rows, keyed.hash, lane)
        grouped = laid_out.groupBy(lane, *keyed.grouping)
        inner = without_columns(func, [lane, *hidden], method)
    result: DataFrame = getattr(grouped, method)(inner, schema)
    return result


def merge_parts(
    parts: DataFrame,
    names: list[str],
    lanes: int,
    method: str,
    merge: Callable[..., Any],
    schema: T.StructType | str,
) -> DataFrame:
    """Put together what a function has given for the fragments of each key.

    Parameters
    ----------
    parts, names
        The results, and the key columns, which must be among them.
    lanes
        Number of lanes on which they are put together.
    method, merge, schema
        Spark's name of the call, and what it takes.
    """
    missing = [name for name in names if name not in parts.columns]
    if missing:
        raise InvalidArgument(
            f"a function with merge must give the key columns; its schema has no {missing[0]!r}"
        )
    keys = [quoted(name) for name in names]
    if in_one_pass(parts.sparkSession, parts.schema, names, merge, method):
        return apply_per_group(parts.repartition(lanes, *keys), names, [], merge, schema)
    merged: DataFrame = getattr(parts.groupBy(*keys), method)(merge, schema)
    return merged
