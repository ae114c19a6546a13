"""Event-time windows by panes: arithmetic of windows, and results of windows from panes.

A pane is as long as the greatest common divisor of window and slide, so that every window is a
whole number of panes and no row is copied. All times are microseconds since 1970; a pane and a
window are named by their start. Frames of panes have the key columns, `pane`, `n` (rows) and one
column per partial result; frames of results have `start` in place of `pane`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab.errors import InvalidArgument

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}

BEFORE_ALL_TIMES = -(1 << 61)
"""A watermark that no row is behind, and that arithmetic with windows cannot overflow."""

BLOCK = 8
"""Windows whose common panes are merged once, where an aggregate has no inverse. Near the square
root of the usual 60 panes per window, which makes common panes and edges cost about the same."""


def microseconds(duration: object, name: str) -> int:
    """Return a duration such as "90 seconds", "1 hour 30 minutes" or a timedelta in microseconds.

    >>> microseconds("1 hour 30 minutes", "window")
    5400000000
    """
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if isinstance(duration, str):
        words = re.fullmatch(r"(?i:interval\s+)?((?:\d+\s+[a-z]+\s*)+)", duration.strip().lower())
        parts = re.findall(r"(\d+)\s+([a-z]+)", words[1]) if words else []
        units = [_UNITS.get(unit.removesuffix("s")) for _, unit in parts]
        if parts and all(units):
            return sum(int(n) * (u or 0) for (n, _), u in zip(parts, units, strict=True))
    raise InvalidArgument(
        f"{name} must be a duration such as '60 seconds' or '1 hour 30 minutes', in units from "
        f"microseconds to weeks; got {duration!r}"
    )


@dataclass(frozen=True)
class Windows:
    """Length of window and slide, and how long late rows are waited for, in microseconds.

    Without a delay rows are never late, and windows never end.
    """

    window: int
    slide: int
    delay: int | None

    @classmethod
    def of(cls, window: object, slide: object | None, watermark: object | None) -> Windows:
        """Read the durations that a user gave; without a slide windows do not overlap."""
        length = microseconds(window, "window")
        step = length if slide is None else microseconds(slide, "slide")
        delay = None if watermark is None else microseconds(watermark, "watermark")
        if length <= 0 or step <= 0 or (delay is not None and delay < 0):
            raise InvalidArgument(
                f"window and slide must be longer than 0 and the watermark 0 or longer; got window "
                f"{window!r}, slide {slide!r}, watermark {watermark!r}"
            )
        if step > length:
            raise InvalidArgument(
                f"slide must not be longer than window, else rows between two windows would be "
                f"lost; got slide {slide!r} and window {window!r}"
            )
        return cls(length, step, delay)

    @property
    def first_watermark(self) -> int:
        """The watermark before anything was seen: Spark begins in 1970."""
        return BEFORE_ALL_TIMES if self.delay is None else 0

    @property
    def pane(self) -> int:
        """Length of a pane."""
        return math.gcd(self.window, self.slide)

    @property
    def overlaps(self) -> bool:
        """Whether a pane is in more than one window."""
        return self.slide < self.window

    def pane_of(self, micros: str) -> str:
        """Return the pane of a moment; moments and panes are columns by name, results SQL text."""
        return f"({micros} - pmod({micros}, {self.pane}L))"

    def last_window_of(self, moment: str) -> str:
        """Return the start of the last window that holds a moment, or a pane by its start."""
        return f"({moment} - pmod({moment}, {self.slide}L))"

    def first_window_of(self, pane: str) -> str:
        """Return the start of the first window that holds a pane."""
        before = f"({pane} - {self.window}L)"
        return f"({before} - pmod({before}, {self.slide}L) + {self.slide}L)"

    def is_late(self, micros: str, watermark: int) -> str:
        """Say whether all windows of a moment, or of a pane, have ended by the watermark."""
        return f"({self.last_window_of(micros)} + {self.window}L <= {watermark}L)"

    def closing(self, before: int, after: int) -> tuple[int, int]:
        """Return the first and the last window start with `before < end <= after`; may be empty."""
        first = (before - self.window) // self.slide * self.slide + self.slide
        last = (after - self.window) // self.slide * self.slide
        return first, last

    def over_by(self, pane: int, watermark: int) -> bool:
        """Say whether all windows that hold a pane have ended by the watermark."""
        return pane // self.slide * self.slide + self.window <= watermark

    def advanced(self, watermark: int, latest: int | None) -> int:
        """Return the watermark after a batch whose latest moment is `latest`.

        As in Spark it is counted in milliseconds, starts at 1970 and never goes back.
        """
        if latest is None or self.delay is None:
            return watermark
        return max(watermark, (latest // 1000 - self.delay // 1000) * 1000)


@dataclass(frozen=True)
class Part:
    """One column of partial results: how two of them merge, and whether merging can be undone."""

    name: str
    merge: str
    has_inverse: bool
    may_be_null: bool

    def merged(self) -> Column:
        """Merge the partial results of a group."""
        return F.expr(f"{self.merge}({self.name}) AS {self.name}")


ROWS = Part("n", "sum", has_inverse=True, may_be_null=False)
"""How many rows a partial result stands for; a key is in a window while this is above 0."""


def closed_windows(
    panes: DataFrame,
    keys: Sequence[str],
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    last: int,
    tasks: int | None = None,
) -> DataFrame:
    """Return the results of all windows that start in `first` to `last`.

    `tasks` is the number of partitions in which results are made; by default Spark decides.
    """
    inside = panes.where(f"pane >= {first}L AND pane < {last + windows.window}L")
    everything = [ROWS, *parts]
    if not windows.overlaps:
        start = F.expr(f"{windows.last_window_of('pane')} AS start")
        started = _apart(inside.select(*keys, start, *_names(everything)), keys, tasks)
        return started.groupBy(*keys, "start").agg(*(part.merged() for part in everything))
    if all(part.has_inverse for part in parts):
        return _by_inverse(inside, keys, parts, windows, first, last, tasks)
    return _by_merging(inside, keys, everything, windows, first, last, tasks)


def changed_windows(
    panes: DataFrame,
    keys: Sequence[str],
    parts: Sequence[Part],
    windows: Windows,
    watermark: int,
    tasks: int | None = None,
) -> DataFrame:
    """Return the results of all windows that rows of this batch went to, unless they had ended.

    The frame of panes has a further column, `fresh`: whether the partial result is of this batch.
    """
    everything = [ROWS, *parts]
    ends = f"{windows.first_window_of('pane')}, {windows.last_window_of('pane')}"
    span = F.expr(f"explode(sequence({ends}, {windows.slide}L)) AS start")
    touched = panes.where("fresh").select(*keys).distinct()
    same = F.expr(" AND ".join(f"a.{key} <=> b.{key}" for key in keys))
    of_touched = panes.alias("a").join(touched.alias("b"), same, "left_semi")
    return (
        _apart(of_touched, keys, tasks)
        .select(*keys, span, "fresh", *_names(everything))
        .where(f"start + {windows.window}L > {watermark}L")
        .groupBy(*keys, "start")
        .agg(*(part.merged() for part in everything), F.bool_or("fresh").alias("fresh"))
        .where("fresh")
        .drop("fresh")
    )


def merged_panes(panes: DataFrame, keys: Sequence[str], parts: Sequence[Part]) -> DataFrame:
    """Merge partial results of the same key and pane."""
    return panes.groupBy(*keys, "pane").agg(*(part.merged() for part in [ROWS, *parts]))


def _by_inverse(
    panes: DataFrame,
    keys: Sequence[str],
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    last: int,
    tasks: int | None,
) -> DataFrame:
    """Slide along the windows: a pane is added where it enters and subtracted where it leaves.

    A key's result changes only at those places, so that everything between them is copied, not
    computed. Nulls are counted: a sum is null while no pane in the window has one that is not.
    """
    enters = f"greatest({windows.first_window_of('pane')}, {first}L)"
    leaves = f"({windows.last_window_of('pane')} + {windows.slide}L)"
    values = {part.name: part.name for part in [ROWS, *parts]}
    counted = [f"{part.name}_there" for part in parts if part.may_be_null]
    for part in parts:
        if part.may_be_null:
            values[part.name] = f"coalesce({part.name}, 0)"
            values[f"{part.name}_there"] = f"if({part.name} IS NULL, 0L, 1L)"
    amounts = ", ".join(f"{text} AS {name}" for name, text in values.items())
    losses = ", ".join(f"-({text}) AS {name}" for name, text in values.items())
    added = f"struct({enters} AS at, {amounts})"
    taken = f"struct({leaves} AS at, {losses})"
    steps = panes.select(
        *keys,
        F.expr(f"explode(if({leaves} <= {last}L, array({added}, {taken}), array({added}))) AS s"),
    ).select(*keys, "s.*")
    # Keys are brought together once, for the grouping and for the running sums after it.
    together = _apart(steps, keys, tasks, always=True)
    changes = together.groupBy(*keys, "at").agg(
        *(F.expr(f"sum({name}) AS {name}") for name in values)
    )
    along = f"OVER (PARTITION BY {', '.join(keys)} ORDER BY at)"
    running = changes.selectExpr(
        *keys,
        "at",
        *(f"sum({name}) {along} AS {name}" for name in values),
        f"lead(at, 1, {last + windows.slide}L) {along} AS next",
    ).where("n > 0")
    results = [
        f"if({part.name}_there > 0, {part.name}, NULL) AS {part.name}"
        if f"{part.name}_there" in counted
        else part.name
        for part in [ROWS, *parts]
    ]
    span = f"explode(sequence(at, next - {windows.slide}L, {windows.slide}L)) AS start"
    return running.selectExpr(*keys, span, *results)


def _by_merging(
    panes: DataFrame,
    keys: Sequence[str],
    parts: Sequence[Part],
    windows: Windows,
    first: int,
    last: int,
    tasks: int | None,
) -> DataFrame:
    """Merge panes that are in the same windows of a block first, and copy only what comes out."""
    block = windows.slide * BLOCK
    starts = f"greatest({windows.first_window_of('pane')}, {first}L)"
    ends = f"least({windows.last_window_of('pane')}, {last}L)"
    blocks = f"{_block_of(starts, first, block)}, {_block_of(ends, first, block)}"
    names = _names(parts)
    shared = (
        _apart(panes, keys, tasks)
        .selectExpr(
            *keys,
            f"{starts} AS low",
            f"{ends} AS high",
            *names,
            f"explode(sequence({blocks}, {block}L)) AS block",
        )
        .selectExpr(
            *keys,
            "greatest(low, block) AS low",
            f"least(high, block + {block - windows.slide}L) AS high",
            *names,
        )
        .groupBy(*keys, "low", "high")
        .agg(*(part.merged() for part in parts))
    )
    span = f"explode(sequence(low, high, {windows.slide}L)) AS start"
    return (
        shared.selectExpr(*keys, span, *names)
        .groupBy(*keys, "start")
        .agg(*(part.merged() for part in parts))
    )


def _block_of(start: str, first: int, block: int) -> str:
    return f"({start} - pmod({start} - {first}L, {block}L))"


def _apart(
    df: DataFrame, keys: Sequence[str], tasks: int | None, *, always: bool = False
) -> DataFrame:
    """Bring the rows of each key to one of `tasks` partitions, where a number is asked for."""
    if tasks is not None:
        return df.repartition(tasks, *keys)
    return df.repartition(*keys) if always else df


def _names(parts: Sequence[Part]) -> list[str]:
    return [part.name for part in parts]
