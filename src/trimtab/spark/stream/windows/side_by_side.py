"""A few windows in one pass: each window has columns of its own, and a key one row of all of them.

A key's partial results are added to every window that they are in, in compiled code, and copied by
nobody: what is exchanged is one row per key. Where many windows close at once such rows are too
wide, and windows are made by the roads of `windows.merging`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from trimtab.spark.stream.windows.panes import Part

MOST_COLUMNS = 32
"""Columns of a row of windows, at most. A key with a single partial result has a row, too: wider
ones would cost more to exchange than partial results are worth."""

_COUNTS = (*range(1, 7), 8, 10, 12, 16, 20, 24, 32)
"""Windows that there are columns for: if there were as many as happen to close, Spark would compile
the code of nearly every batch anew."""


def columns_for(count: int, parts: Sequence[Part]) -> int | None:
    """Return how many windows to make room for, given how many close; None if that is too wide.

    >>> columns_for(9, [Part("n", "sum", has_inverse=True, may_be_null=False)])
    10
    """
    if not all(part.merge.isidentifier() for part in parts):
        return None
    room = next((least for least in _COUNTS if least >= count), None)
    return room if room is not None and room * len(parts) <= MOST_COLUMNS else None


def side_by_side(
    pieces: DataFrame, groups: Sequence[str], parts: Sequence[Part], room: int, start: str
) -> DataFrame:
    """Return the results of windows that are numbered from 0, from partial results of each key.

    Parameters
    ----------
    pieces
        Partial results, each with the numbers of the first and last window that it is in, `low` and
        `high`.
    groups
        The columns to group by.
    parts
        What is merged; the first counts rows, and is above 0 where a key is in a window.
    room
        Windows that there may be.
    start
        Start of the window with a number, as SQL text with `{number}` in it.
    """
    names = [part.name for part in parts]
    merged = (
        f"{part.merge}({part.name}) FILTER (WHERE low <= {number} AND high >= {number}) "
        f"AS {part.name}_{number}"
        for number in range(room)
        for part in parts
    )
    starts = (f"{start.format(number=number)} AS start_{number}" for number in range(room))
    rows = (
        f"({', '.join(f'{name}_{number}' for name in ('start', *names))})" for number in range(room)
    )
    keys, columns = ", ".join(groups), ", ".join(["start", *names])
    # One text in place of many columns, each a conversation with the Java process. Rows come out
    # of UNPIVOT in compiled code, out of `inline` by way of an object for each.
    return pieces.sparkSession.sql(
        f"SELECT {keys}, {columns} FROM (SELECT *, {', '.join(starts)} FROM "
        f"(SELECT {keys}, {', '.join(merged)} FROM {{pieces}} GROUP BY {keys})) "
        f"UNPIVOT INCLUDE NULLS (({columns}) FOR which IN ({', '.join(rows)})) "
        f"WHERE {names[0]} > 0",
        pieces=pieces,
    )
