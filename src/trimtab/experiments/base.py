"""What an experiment is: a function that repeats a paper's figure and says what became of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab._checks import one_of, real, whole

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
VERDICTS = (HOLDS, IN_PART, FAILS)

Cell = str | int | float
Row = dict[str, Cell]


@dataclass(frozen=True)
class Setting:
    """How large an experiment is, and how often luck is tried.

    Parameters
    ----------
    scale
        Multiple of the tuples and keys that each experiment takes by itself, above 0.
    seeds
        Repetitions with other keys, hash functions and draws, 1 or more.
    """

    scale: float = 1.0
    seeds: int = 5

    def __post_init__(self) -> None:
        real("scale", self.scale, 0, low_open=True)
        whole("seeds", self.seeds, 1)

    def size(self, full: int, least: int = 1) -> int:
        """Return a number of tuples or keys at this scale, `least` or more."""
        return max(least, round(full * self.scale))

    @property
    def seed_numbers(self) -> range:
        """The seeds: 1, 2, ..."""
        return range(1, self.seeds + 1)


@dataclass(frozen=True)
class Claim:
    """A take-away of a paper, and what became of it here.

    Attributes
    ----------
    says
        What the paper says, in our words.
    paper
        Its figure, where it gives one.
    ours
        What we measured.
    verdict
        "holds", "holds in part" or "does not hold".
    reason
        Why it does not hold, or not wholly.
    """

    says: str
    paper: str
    ours: str
    verdict: str
    reason: str = ""

    def __post_init__(self) -> None:
        one_of("verdict", self.verdict, VERDICTS)


def judged(
    says: str,
    paper: str,
    ours: str,
    *,
    holds: bool,
    in_part: bool = False,
    reason: str = "",
) -> Claim:
    """Make a claim with the verdict that figures have come to; `reason` is told unless it holds."""
    verdict = HOLDS if holds else IN_PART if in_part else FAILS
    return Claim(says, paper, ours, verdict, "" if holds else reason)


@dataclass(frozen=True)
class Panel:
    """One panel of an experiment's picture, drawn from its rows.

    Attributes
    ----------
    x, y, series
        Columns: numbers in `x` give lines, words give bars; one line or colour per `series`.
    title
        What is above it.
    where
        Rows that belong here: those with these values.
    logarithmic
        Whether `y` is on a logarithmic scale.
    """

    x: str
    y: str
    series: str
    title: str = ""
    where: Mapping[str, Cell] = field(default_factory=dict)
    logarithmic: bool = False

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows of this panel."""
        return [row for row in rows if all(row.get(k) == v for k, v in self.where.items())]


@dataclass(frozen=True)
class Finding:
    """What an experiment found: rows for a CSV file, panels for a picture, claims for the ledger.

    Attributes
    ----------
    rows
        One per measurement.
    panels
        How to draw them.
    claims
        What the paper says of the figure, and our verdicts.
    note
        How the experiment differs from the paper's.
    """

    rows: Sequence[Row]
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...]
    note: str = ""

    def to_csv(self) -> str:
        """Return the rows as a CSV file."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()


Experiment = Callable[[Setting], Finding]


def mean(rows: Sequence[Row], value: str, **where: Cell) -> float:
    """Return the mean of a column over the rows with these values.

    >>> rows = [{"name": "a", "x": 1.0}, {"name": "a", "x": 3.0}, {"name": "b", "x": 9.0}]
    >>> mean(rows, "x", name="a")
    2.0
    """
    found = [float(row[value]) for row in rows if all(row[k] == v for k, v in where.items())]
    return sum(found) / len(found)
