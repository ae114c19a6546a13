"""What constructors take: each parameter's name, default, range and effect, declared once.

A partitioner declares its parameters as class attributes. The constructor checks values against
the declaration, and the command line and the documentation show it, so that they cannot disagree.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import MAX_LANES, capacities, one_of, real, whole
from trimtab.errors import InvalidArgument

T = TypeVar("T")

REQUIRED: Any = inspect.Parameter.empty
"""The default of a parameter that has none."""


class Allowed(ABC, Generic[T]):
    """The values that a parameter may have; `str()` says them in words."""

    @abstractmethod
    def check(self, name: str, value: object, lanes: int) -> T:
        """Return `value` as the constructor keeps it; raise a sentence if it is not allowed.

        `lanes` is the partitioner's number of lanes: some ranges depend on it.
        """


@dataclass(frozen=True)
class Whole(Allowed[int]):
    """Whole numbers from `low` to `high`; with `together`, value x lanes is at most that."""

    low: int
    high: int | None = None
    together: int | None = None

    def check(self, name: str, value: object, lanes: int) -> int:
        """Return `value` as an int."""
        number = whole(name, value, self.low, self.high)
        if self.together is not None and number * lanes > self.together:
            raise InvalidArgument(
                f"{name} x lanes must be at most {_short(self.together)}, so {name} must be at "
                f"most {self.together // lanes} for {lanes} lanes; got {number}"
            )
        return number

    def __str__(self) -> str:
        one = (
            f"{self.low} or more"
            if self.high is None
            else f"{_short(self.low)}..{_short(self.high)}"
        )
        return one if self.together is None else f"{one}; x lanes at most {_short(self.together)}"


@dataclass(frozen=True)
class Real(Allowed[float]):
    """Numbers from `low` to `high`, with the ends or without them."""

    low: float
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def check(self, name: str, value: object, lanes: int) -> float:
        """Return `value` as a float."""
        return real(
            name, value, self.low, self.high, low_open=self.low_open, high_open=self.high_open
        )

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"above {self.low:g}" if self.low_open else f"{self.low:g} or more"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"in {left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True)
class OneOf(Allowed[str]):
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, name: str, value: object, lanes: int) -> str:
        """Return the word."""
        return one_of(name, value, self.words)

    def __str__(self) -> str:
        return " or ".join(repr(word) for word in self.words)


@dataclass(frozen=True)
class YesNo(Allowed[bool]):
    """True or False, and nothing that merely looks like it."""

    def check(self, name: str, value: object, lanes: int) -> bool:
        """Return `value` as a bool."""
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidArgument(f"{name} must be True or False; got {value!r}")
        return bool(value)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class OnePerLane(Allowed[NDArray[np.float64]]):
    """One positive number per lane, or None where all lanes are equal."""

    def check(self, name: str, value: object, lanes: int) -> NDArray[np.float64]:
        """Return the numbers, scaled to a mean of one."""
        return capacities(value, lanes, name)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return "one positive number per lane, or None"


@dataclass(frozen=True)
class OrNone(Allowed[T | None]):
    """What `given` allows, or None, which means `without`."""

    given: Allowed[T]
    without: str

    def check(self, name: str, value: object, lanes: int) -> T | None:
        """Return the checked value, or None."""
        return None if value is None else self.given.check(name, value, lanes)

    def __str__(self) -> str:
        return f"{self.given}; None: {self.without}"


@dataclass(frozen=True)
class Parameter(Generic[T]):
    """One parameter of a constructor.

    Attributes
    ----------
    name, default
        As in the constructor's signature; `REQUIRED` stands for no default.
    allowed
        The values it may have.
    effect
        What it does, or what raising it does, in a few words.

    Examples
    --------
    >>> choices = Parameter("choices", 2, Whole(1, 64), "levels hotter keys, replicates more")
    >>> choices.allowed.check("choices", 5, lanes=8), str(choices.allowed)
    (5, '1..64')
    """

    name: str
    default: Any
    allowed: Allowed[T]
    effect: str


LANES = Parameter("lanes", REQUIRED, Whole(1, MAX_LANES), "number of destinations")
SEED = Parameter("seed", 0, Whole(0, (1 << 64) - 1), "chooses hash functions and random decisions")
SPLIT = Parameter("split", True, YesNo(), "whether hot keys may be on several lanes")
CAPACITIES = Parameter(
    "capacities", None, OnePerLane(), "relative speed of each lane; None: all are equal"
)


def _short(number: int) -> str:
    """Write large powers of two, and the numbers one below, as powers.

    >>> _short(64), _short(1 << 20), _short((1 << 64) - 1)
    ('64', '2^20', '2^64 - 1')
    """
    if number >= 1 << 16:
        for below in (0, 1):
            if (number + below) & (number + below - 1) == 0:
                return f"2^{(number + below).bit_length() - 1}" + (" - 1" if below else "")
    return str(number)
