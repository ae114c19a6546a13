"""Results of windows from panes: which partial results are merged, how often, and where.

Frames of panes have the key columns, `pane`, `n` (rows) and one column per partial result; frames
of results have `start` in place of `pane`. Numbers that differ from batch to batch are written as
`steady`: else Spark would compile the code of every batch anew, and run it cold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trimtab.spark.columns import hash_text
from trimtab.spark.stream.windows.panes import ROWS, Part, Windows
from trimtab.spark.stream.windows.side_by_side import columns_for, side_by_side

FRESH = Part("fresh", "sum", has_inverse=True, may_be_null=False)
"""How many partial results of this batch are in a result."""

BLOCK = 8
"""Windows whose common panes are merged once, where an aggregate has no inverse. Near the square
root of the usual 60 panes per window, which makes common panes and edges cost about the same."""


@dataclass(frozen=True, eq=False)
class Gathering:
    """How the partial results of a key come to one place.

    Attributes
    ----------
    keys
        The key columns.
    together
        Lays a frame out so that each key is in one partition: the one exchange that is made.
    groups
        The columns to group by once that is done: the key, and the bucket where there are any.
    by_spark
        Whether Spark may bring keys together by itself where it groups, combining them first.
    """

    keys: tuple[str, ...]
    together: Callable[[DataFrame], DataFrame]
    groups: tuple[str, ...]
    by_spark: bool = False

    @property
    def forwards(self) -> bool:
        """Whether whole keys may pass by: buckets are there to get, and count, all that is sent."""
        return self.groups == self.keys

    def before_grouping(self, df: DataFrame) -> DataFrame:
        """Lay a frame out, unless Spark does that best itself."""
        return df if self.by_spark else self.together(df)


@dataclass(frozen=True, eq=False)
class Carried:
    """The result of one window that stands for its panes.

    Attributes
    ----------
    start
        The window.
    frame
        Its results: the key, and the columns of `carried_columns`.
    leaving
        The panes in it that are not in all of the windows to come; None if there are none.
    """

    start: int
    frame: DataFrame
    leaving: DataFrame | None


def steady(value: int, column: str) -> str:
    """Return a number as SQL text that does not become part of the code that Spark compiles.

    An array is handed to compiled code, a number is written into it. Which of two equal elements
    is read depends on a column, which must be one that can be null, so that Spark does not work out
    the result beforehand.
    """
    return f"array({value}L, {value}L)[cast({column} IS NULL AS int)]"


def between(column: str, first: int, end: int) -> str:
    """Say that a moment is in a span that differs from batch to batch, as SQL text."""
    return f"({column} >= {steady(first, column)} AND {column} < {steady(end, column)})"


def closed_windows(
    panes: DataFrame,
    gathering: Gathering,
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    last: int,
    *,
    whole: bool = False,
    split: Sequence[int] | None = None,
    exact: bool = True,
    carried: Carried | None = None,
    condensed: DataFrame | None = None,
) -> DataFrame:
    """Return the results of all windows that start in `first` to `last`.

    `whole` says that no key has a pane twice: where windows do not overlap, nothing is to be merged
    then. Where only the keys with the hashes in `split` have, the others pass the merge by, as
    Dalton forwards them (Section 4.2). `exact` says that what has an inverse can be taken back
    here. `carried` stands for panes that are not in `panes`; it needs parts that can. `condensed`
    are results of panes that are in all of the windows, and not in `panes`.
    """
    everything = [ROWS, *parts]
    inside = panes.where(between("pane", first, last + windows.window))
    if not windows.overlaps:
        start = f"{windows.last_window_of('pane')} AS start"
        started = inside.selectExpr(*gathering.keys, start, *_names(everything))
        if whole:
            return started
        if split is None:
            return _merged_windows(started, gathering, everything)
        hashes = ", ".join(f"{value}L" for value in split)
        # An array is handed to compiled code, which is then the same for every plan.
        is_split = f"array_contains(array({hashes}), {hash_text(gathering.keys)})"
        merged = _merged_windows(started.where(is_split), gathering, everything)
        return started.where(f"NOT {is_split}").union(merged)
    room = columns_for((last - first) // windows.slide + 1, everything)
    if carried is None and first < last and room is not None:
        span = windows, first, last
        pieces = _in_windows(inside, gathering.keys, everything, *span, condensed, by_number=True)
        start = f"{steady(first, f'{ROWS.name}_0')} + {{number}} * {windows.slide}L"
        together = gathering.before_grouping(pieces)
        return side_by_side(together, gathering.groups, everything, room, start)
    if exact and all(part.has_inverse for part in parts):
        moves = _moves(inside, gathering.keys, parts, windows, first, carried)
        return _along(gathering.together(moves), gathering.groups, parts, windows, last)
    return _by_merging(inside, gathering, everything, windows, first, last, condensed)


def _merged_windows(started: DataFrame, gathering: Gathering, parts: Sequence[Part]) -> DataFrame:
    grouped = gathering.before_grouping(started).groupBy(*gathering.groups, "start")
    return grouped.agg(*(F.expr(part.merged) for part in parts))


def carried_window(
    panes: DataFrame,
    keys: Sequence[str],
    parts: Sequence[Part],
    windows: Windows,
    start: int,
    carried: Carried | None,
) -> DataFrame:
    """Return the result of one window, in the form that stands for its panes in later batches."""
    inside = panes.where(between("pane", start, start + windows.window))
    moves = _moves(inside, keys, parts, windows, start, carried)
    left, there = steady(start, "leaves"), steady(start, "enters")
    now = f"if(enters IS NULL, leaves <= {left}, enters <= {there})"
    sums = [
        f"sum(if(enters IS NULL, -{name}, {name})) AS {name}" for name in carried_columns(parts)
    ]
    return moves.where(now).groupBy(*keys).agg(*map(F.expr, sums)).where("n > 0")


def carried_columns(parts: Sequence[Part]) -> list[str]:
    """Return the columns of a carried result: partial results, and how many panes have each."""
    return [*_names([ROWS, *parts]), *(f"{part.name}_there" for part in parts if part.may_be_null)]


def changed_windows(
    panes: DataFrame,
    gathering: Gathering,
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    last: int,
    *,
    exact: bool = True,
) -> DataFrame:
    """Return the results of the windows `first` to `last` that rows of this batch went to.

    The frame of panes has a further column, `fresh`: 1 if the partial result is of this batch, else
    0. It is added up like the others, and a window has changed where the sum is not 0.
    """
    keys = gathering.keys
    touched = panes.where("fresh = 1").select(*keys).distinct()
    same = " AND ".join(f"a.{key} <=> b.{key}" for key in keys)
    of_touched = panes.alias("a").join(touched.alias("b"), F.expr(same), "left_semi")
    every = [*parts, FRESH]
    found = closed_windows(of_touched, gathering, every, windows, first, last, exact=exact)
    return found.where("fresh > 0").drop("fresh")


def merged_panes(panes: DataFrame, groups: Sequence[str], parts: Sequence[Part]) -> DataFrame:
    """Merge the partial results of each group: of a key and pane, or of a key."""
    return panes.groupBy(*groups).agg(*(F.expr(part.merged) for part in [ROWS, *parts]))


def _moves(
    panes: DataFrame,
    keys: Sequence[str],
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    carried: Carried | None,
) -> DataFrame:
    """Return where each partial result enters the windows from `first` on, and where it leaves.

    A pane is added where it enters and subtracted where it leaves. One that is in the carried
    result already only leaves (`enters` is null); the carried result itself only enters (`leaves`
    is null). Nulls are counted: a sum is null while no pane in the window has one that is not.
    """
    values = [ROWS.name]
    for part in parts:
        values.append(f"coalesce({part.name}, 0) AS {part.name}" if part.may_be_null else part.name)
    values += [
        f"if({part.name} IS NULL, 0L, 1L) AS {part.name}_there"
        for part in parts
        if part.may_be_null
    ]
    bound = steady(first, "pane")
    enters = f"greatest({windows.first_window_of('pane')}, {bound})"
    leaves = f"({windows.last_window_of('pane')} + {windows.slide}L)"
    moves = panes.selectExpr(*keys, f"{enters} AS enters", f"{leaves} AS leaves", *values)
    if carried is None:
        return moves
    start, never = f"{steady(first, 'n')} AS enters", "cast(NULL AS long)"
    names = carried_columns(parts)
    moves = moves.union(carried.frame.selectExpr(*keys, start, f"{never} AS leaves", *names))
    if carried.leaving is None:
        return moves
    left = f"greatest({leaves}, {bound}) AS leaves"
    return moves.union(carried.leaving.selectExpr(*keys, f"{never} AS enters", left, *values))


def _along(
    moves: DataFrame, keys: Sequence[str], parts: Sequence[Part], windows: Windows, last: int
) -> DataFrame:
    """Slide along the windows, up to the last.

    A key's result changes only where a pane enters or leaves, so that everything between them is
    copied, not computed.
    """
    names = carried_columns(parts)
    added = f"struct(enters AS at, {', '.join(names)})"
    taken = f"struct(leaves AS at, {', '.join(f'-{name} AS {name}' for name in names)})"
    leaves = f"leaves <= {steady(last, 'leaves')}"
    both = (
        f"CASE WHEN enters IS NULL THEN array({taken}) WHEN {leaves} THEN array({added}, {taken}) "
        f"ELSE array({added}) END"
    )
    changes = (
        moves.selectExpr(*keys, f"explode({both}) AS s")
        .selectExpr(*keys, "s.*")
        .groupBy(*keys, "at")
        .agg(*(F.expr(f"sum({name}) AS {name}") for name in names))
    )
    along = f"OVER (PARTITION BY {', '.join(keys)} ORDER BY at)"
    running = changes.selectExpr(
        *keys,
        "at",
        *(f"sum({name}) {along} AS {name}" for name in names),
        f"lead(at, 1) {along} AS next",
    ).where("n > 0")
    results = [
        f"if({part.name}_there > 0, {part.name}, NULL) AS {part.name}"
        if part.may_be_null
        else part.name
        for part in [ROWS, *parts]
    ]
    until = f"coalesce(next, {steady(last + windows.slide, 'next')})"
    span = f"explode(sequence(at, {until} - {windows.slide}L, {windows.slide}L)) AS start"
    return running.selectExpr(*keys, span, *results)


def _in_windows(
    panes: DataFrame,
    keys: Sequence[str],
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    last: int,
    condensed: DataFrame | None,
    *,
    by_number: bool = False,
) -> DataFrame:
    """Return partial results with the first and the last of the windows that each is in.

    Windows are named by their start, or `by_number`, from 0.
    """

    def named(start: str, column: str) -> str:
        if not by_number:
            return start
        return f"cast(({start} - {steady(first, column)}) div {windows.slide}L AS int)"

    names = _names(parts)
    low = f"greatest({windows.first_window_of('pane')}, {steady(first, 'pane')})"
    high = f"least({windows.last_window_of('pane')}, {steady(last, 'pane')})"
    ends = f"{named(low, 'pane')} AS low", f"{named(high, 'pane')} AS high"
    pieces = panes.selectExpr(*keys, *ends, *names)
    if condensed is None:
        return pieces
    low, high = steady(first, "n"), steady(last, "n")
    ends = f"{named(low, 'n')} AS low", f"{named(high, 'n')} AS high"
    return pieces.union(condensed.selectExpr(*keys, *ends, *names))


def _by_merging(
    panes: DataFrame,
    gathering: Gathering,
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    last: int,
    condensed: DataFrame | None,
) -> DataFrame:
    """Merge panes that are in the same windows of a block first, and copy only what comes out."""
    groups, names = gathering.groups, _names(parts)
    pieces = _in_windows(panes, gathering.keys, parts, windows, first, last, condensed)
    pieces = gathering.before_grouping(pieces)
    if first == last:
        merged = pieces.groupBy(*groups).agg(*(F.expr(part.merged) for part in parts))
        return merged.selectExpr(*groups, f"{steady(first, 'n')} AS start", *names)
    block, origin = windows.slide * BLOCK, steady(first, "low")
    blocks = f"{_block_of('low', origin, block)}, {_block_of('high', origin, block)}"
    pieces = pieces.selectExpr(
        *groups,
        "low",
        "high",
        *names,
        f"explode(sequence({blocks}, {block}L)) AS block",
    ).selectExpr(
        *groups,
        "greatest(low, block) AS low",
        f"least(high, block + {block - windows.slide}L) AS high",
        *names,
    )
    shared = pieces.groupBy(*groups, "low", "high").agg(*(F.expr(part.merged) for part in parts))
    span = f"explode(sequence(low, high, {windows.slide}L)) AS start"
    return (
        shared.selectExpr(*groups, span, *names)
        .groupBy(*groups, "start")
        .agg(*(F.expr(part.merged) for part in parts))
    )


def _block_of(start: str, first: str, block: int) -> str:
    return f"({start} - pmod({start} - {first}, {block}L))"


def _names(parts: Sequence[Part]) -> list[str]:
    return [part.name for part in parts]
