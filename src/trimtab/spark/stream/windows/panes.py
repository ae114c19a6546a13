"""Event-time windows by panes: the arithmetic of windows, and what a partial result is.

A pane is as long as the greatest common divisor of window and slide, so that every window is a
whole number of panes and no row is copied. All times are microseconds since 1970; a pane and a
window are named by their start. Frames of panes have the key columns, `pane`, `n` (rows) and one
column per partial result; frames of results have `start` in place of `pane`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from trimtab.errors import InvalidArgument
from trimtab.spark.columns import quoted

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

AFTER_ALL_TIMES = 1 << 61
"""A watermark that all rows are behind."""

FIRST_MICROS = -62_135_596_800_000_000
LAST_MICROS = 253_402_300_799_999_999
"""Event times outside of the years 1 to 9999 are not times, and would overflow the arithmetic."""


def usable_micros(time: str) -> str:
    """Return the moment in a time column, null where it is not usable, as SQL text."""
    moment = f"unix_micros({quoted(time)})"
    return f"if({moment} BETWEEN {FIRST_MICROS}L AND {LAST_MICROS}L, {moment}, NULL)"


def as_shown(watermark: int) -> str | None:
    """Return a watermark as people read it; None if there is none."""
    if watermark <= BEFORE_ALL_TIMES:
        return None
    return str(np.datetime_as_string(np.datetime64(watermark, "us")))


def microseconds(duration: object, name: str, *, signed: bool = False) -> int:
    """Return a duration such as "90 seconds", "1 hour 30 minutes" or a timedelta in microseconds.

    If it is `signed`, every number of a text may be negative, as Spark reads it.

    >>> microseconds("1 hour 30 minutes", "window")
    5400000000
    >>> microseconds("-1 hour 30 minutes", "start_time", signed=True)
    -1800000000
    """
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if isinstance(duration, str):
        number = r"-?\d+" if signed else r"\d+"
        one = rf"({number})\s+([a-z]+)"
        words = re.fullmatch(rf"(?:interval\s+)?((?:{one}\s*)+)", duration.strip().lower())
        parts = re.findall(one, words[1]) if words else []
        units = [_UNITS.get(unit.removesuffix("s")) for _, unit in parts]
        if parts and all(units):
            return sum(int(n) * (u or 0) for (n, _), u in zip(parts, units, strict=True))
    raise InvalidArgument(
        f"{name} must be a duration such as '60 seconds' or '1 hour 30 minutes', in units from "
        f"microseconds to weeks; got {duration!r}"
    )


def days_in(duration: object) -> int:
    """Return the whole days that a duration speaks of, by days and weeks.

    >>> days_in("1 week 2 days 30 hours"), days_in("24 hours")
    (9, 0)
    """
    text = duration.lower() if isinstance(duration, str) else ""
    found = re.findall(r"(\d+)\s+(day|week)", text)
    return sum(int(count) * (7 if unit == "week" else 1) for count, unit in found)


LONGEST = LAST_MICROS - FIRST_MICROS
"""A longer window would hold all times there are, and its ends are no times any more."""

MOST_PANES = 1_000_000
"""Panes that are open for a key at once, at most."""


@dataclass(frozen=True)
class Windows:
    """Length of window and slide, and how long late rows are waited for, in microseconds.

    Without a delay rows are never late, and windows never end. Windows start at `origin` and every
    slide before and after it.
    """

    window: int
    slide: int
    delay: int | None
    origin: int = 0

    @classmethod
    def of(
        cls,
        window: object,
        slide: object | None,
        watermark: object | None,
        start_time: object | None = None,
    ) -> Windows:
        """Read the durations that a user gave; without a slide windows do not overlap."""
        length = microseconds(window, "window")
        step = length if slide is None else microseconds(slide, "slide")
        delay = None if watermark is None else microseconds(watermark, "watermark")
        origin = 0 if start_time is None else microseconds(start_time, "start_time", signed=True)
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
        if length > LONGEST:
            raise InvalidArgument(
                f"window must not be longer than the 9,999 years that event times can be in; got "
                f"{window!r}"
            )
        if abs(origin) >= step:
            raise InvalidArgument(
                f"start_time must be shorter than the slide, forwards or backwards, as in Spark's "
                f"window(); got start_time {start_time!r} with a slide of {slide or window!r}"
            )
        pane = math.gcd(length, step)
        if length // pane > MOST_PANES:
            raise InvalidArgument(
                f"window {window!r} and slide {slide!r} have a greatest common divisor of {pane} "
                f"microseconds, which makes {length} / {pane} = {length // pane:,} open panes for "
                f"each key; at most {MOST_PANES:,} are allowed: give a slide that divides the "
                "window into fewer"
            )
        return cls(length, step, delay, origin % step)

    @property
    def first_watermark(self) -> int:
        """The watermark before anything was seen: Spark begins in 1970."""
        return BEFORE_ALL_TIMES if self.delay is None else 0

    @property
    def pane(self) -> int:
        """Length of a pane."""
        return math.gcd(self.window, self.slide)

    def panes_in(self, first: int, last: int) -> int:
        """Return the number of panes from one to another."""
        return (last - first) // self.pane + 1

    @property
    def overlaps(self) -> bool:
        """Whether a pane is in more than one window."""
        return self.slide < self.window

    def pane_of(self, micros: str) -> str:
        """Return the pane of a moment; moments and panes are columns by name, results SQL text."""
        return self._floor_text(micros, self.pane)

    def last_window_of(self, moment: str) -> str:
        """Return the start of the last window that holds a moment, or a pane by its start."""
        return self._floor_text(moment, self.slide)

    def first_window_of(self, pane: str) -> str:
        """Return the start of the first window that holds a pane."""
        return f"({self._floor_text(f'({pane} - {self.window}L)', self.slide)} + {self.slide}L)"

    def _floor_text(self, moment: str, step: int) -> str:
        shifted = f"{moment} - {self.origin}L" if self.origin else moment
        return f"({moment} - pmod({shifted}, {step}L))"

    def window_at(self, moment: int) -> int:
        """Return the start of the last window that holds a moment."""
        return moment - (moment - self.origin) % self.slide

    def first_in_time(self, watermark: int) -> int:
        """Return the first moment that is in a window which has not ended by the watermark."""
        return self.window_at(watermark - self.window) + self.slide

    def closing(self, before: int, after: int) -> tuple[int, int]:
        """Return the first and the last window start with `before < end <= after`; may be empty."""
        return self.first_in_time(before), self.window_at(after - self.window)

    def advanced(self, watermark: int, latest: int | None) -> int:
        """Return the watermark after a batch whose latest moment is `latest`.

        As in Spark it is counted in milliseconds, starts at 1970 and never goes back.
        """
        if latest is None or self.delay is None:
            return watermark
        return max(watermark, (latest // 1000 - self.delay // 1000) * 1000)


@dataclass(frozen=True)
class Part:
    """One column of partial results: how two of them merge, and whether merging can be undone.

    `merge` is the name of a function, or an expression over this and other parts of its aggregate.
    What `is_rest` can be taken back only while it is 0.
    """

    name: str
    merge: str
    has_inverse: bool
    may_be_null: bool
    is_rest: bool = False

    @property
    def merged(self) -> str:
        """How the partial results of a group are merged, as SQL text."""
        call = f"{self.merge}({self.name})" if self.merge.isidentifier() else self.merge
        return f"{call} AS {self.name}"


ROWS = Part("n", "sum", has_inverse=True, may_be_null=False)
"""How many rows a partial result stands for; a key is in a window while this is above 0."""
