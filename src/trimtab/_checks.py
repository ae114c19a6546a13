"""Validation shared by all constructors: one sentence per mistake, raised on the driver."""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import InvalidArgument

MAX_LANES = 1 << 20
"""Upper limit on lanes: lanes are int32, and tables of lanes x keys must stay addressable."""


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int if it is a whole number in [low, high]."""
    allowed = f"a whole number >= {low}" if high is None else f"a whole number in {low}..{high}"
    if isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(f"{name} must be {allowed}; got {value!r}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument(f"{name} must be {allowed}; got {value!r}") from None
    if number < low or (high is not None and number > high):
        raise InvalidArgument(f"{name} must be {allowed}; got {value!r}")
    return number


def lane_count(value: object, name: str = "lanes") -> int:
    """Return `value` as a number of lanes."""
    return whole(name, value, 1, MAX_LANES)


def lanes_or_auto(value: object) -> int | None:
    """Return `value` as a number of lanes; None if it is "auto", or nobody has said it."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    if isinstance(value, str):
        raise InvalidArgument(f"lanes must be a whole number from 1 on, or 'auto'; got {value!r}")
    return lane_count(value)


def seed_number(value: object) -> int:
    """Return `value` as a seed that fits an unsigned 64-bit word."""
    return whole("seed", value, 0, (1 << 64) - 1)


def real(
    name: str,
    value: object,
    low: float,
    high: float = math.inf,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a float if it lies in the interval from `low` to `high`."""
    left, right = "(" if low_open else "[", ")" if high_open or high == math.inf else "]"
    allowed = f"a number in {left}{low:g}, {high:g}{right}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        raise InvalidArgument(f"{name} must be {allowed}; got {value!r}")
    number = float(value)
    inside = (number > low if low_open else number >= low) and (
        number < high if high_open or high == math.inf else number <= high
    )
    if not inside:
        raise InvalidArgument(f"{name} must be {allowed}; got {value!r}")
    return number


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise InvalidArgument(f"{name} must be one of {words}; got {value!r}")
    return value


def capacities(
    value: ArrayLike | None, lanes: int, name: str = "capacities"
) -> NDArray[np.float64]:
    """Return one positive capacity per lane, scaled to a mean of one; None means all equal."""
    if value is None:
        return np.ones(lanes)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != (lanes,) or not np.isfinite(array).all() or (array <= 0).any():
        raise InvalidArgument(
            f"{name} must be {lanes} positive numbers, one per lane; got {value!r}"
        )
    return np.asarray(array / array.mean())


def key_hash(value: object) -> int:
    """Return one key hash as an unsigned word; a negative one is a signed long, as Spark's."""
    return whole("a key hash", value, -(1 << 63), (1 << 64) - 1) & ((1 << 64) - 1)


def key_hashes(value: ArrayLike, name: str = "hashes") -> NDArray[np.uint64]:
    """Return `value` as a uint64 vector; int64, which is what Spark gives, is taken bit for bit."""
    array = np.asarray(value)
    if array.ndim != 1:
        raise InvalidArgument(f"{name} must be one-dimensional; got {array.ndim} dimensions")
    if array.dtype == np.uint64:
        return np.ascontiguousarray(array)
    if array.dtype == np.int64:
        return np.ascontiguousarray(array).view(np.uint64)
    if array.size == 0:
        return np.empty(0, dtype=np.uint64)
    if array.dtype.kind in "iu":
        return array.astype(np.int64).view(np.uint64)
    raise InvalidArgument(
        f"{name} must be 64-bit key hashes (uint64, or int64 as Spark gives them); got "
        f"{array.dtype}; hash the keys with trimtab.hash_keys first"
    )
