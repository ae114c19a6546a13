"""What classes say of themselves, in the forms that tests need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from trimtab._described import Described
from trimtab._parameters import Allowed, OneOf, OnePerLane, OrNone, Real, Whole, YesNo


def variants(classes: Iterable[type[Described]]) -> dict[str, dict[str, Any]]:
    """Return each class with its defaults, and with each of its example parameters.

    Names are those of the registry, with the parameters behind a slash: "pkg/choices=5".
    """
    found: dict[str, dict[str, Any]] = {}
    for cls in classes:
        found[cls.name] = {}
        for parameters in cls.example_parameters():
            words = ", ".join(f"{name}={value}" for name, value in parameters.items())
            found[f"{cls.name}/{words}"] = parameters
    return found


def inside(allowed: Allowed[Any], lanes: int) -> list[Any]:
    """Return the values at the ends of what is allowed, or all where they are few."""
    if isinstance(allowed, Whole):
        highest = [high for high in (allowed.high, _together(allowed, lanes)) if high is not None]
        return [allowed.low, min(highest, default=allowed.low + 1000)]
    if isinstance(allowed, Real):
        low = _next(allowed.low, math.inf) if allowed.low_open else allowed.low
        if allowed.high == math.inf:
            return [low, 1e6]
        return [low, _next(allowed.high, -math.inf) if allowed.high_open else allowed.high]
    if isinstance(allowed, OneOf):
        return list(allowed.words)
    if isinstance(allowed, YesNo):
        return [True, False]
    if isinstance(allowed, OnePerLane):
        return [None, [1.0] * lanes, list(range(1, lanes + 1))]
    assert isinstance(allowed, OrNone), f"say what is inside of {allowed!r}"
    return [None, *inside(allowed.given, lanes)]


def outside(allowed: Allowed[Any], lanes: int) -> list[Any]:
    """Return values just outside of what is allowed, and some of another type."""
    if isinstance(allowed, Whole):
        highest = [high for high in (allowed.high, _together(allowed, lanes)) if high is not None]
        return [allowed.low - 1, *(high + 1 for high in highest), allowed.low + 0.5, "2", True]
    if isinstance(allowed, Real):
        low = allowed.low if allowed.low_open else _next(allowed.low, -math.inf)
        high = allowed.high if allowed.high_open else _next(allowed.high, math.inf)
        return [low, high, math.nan, "0.5", True]
    if isinstance(allowed, OneOf):
        return ["", allowed.words[0].upper(), 0, None]
    if isinstance(allowed, YesNo):
        return [0, 1, "yes", None]
    if isinstance(allowed, OnePerLane):
        ones = [1.0] * lanes
        return [ones[1:], [*ones, 1.0], [*ones[1:], 0.0], [*ones[1:], math.inf], [ones]]
    assert isinstance(allowed, OrNone), f"say what is outside of {allowed!r}"
    return [value for value in outside(allowed.given, lanes) if value is not None]


def _together(allowed: Whole, lanes: int) -> int | None:
    return None if allowed.together is None else allowed.together // lanes


def _next(number: float, towards: float) -> float:
    return math.nextafter(number, towards)
