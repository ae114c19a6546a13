"""What cooperating Daltons and their reducer say to each other: plain arrays and JSON values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from trimtab._format import Format
from trimtab.errors import CorruptState

_DTYPES: dict[str, tuple[Any, int]] = {
    "keys": (np.uint64, 1),
    "values": (np.float64, 2),
    "top_keys": (np.uint64, 1),
    "top_counts": (np.int64, 1),
    "until": (np.int64, 1),
    "loads": (np.int64, 1),
}
"""Type and number of dimensions of each array that a message may hold."""


@dataclass(frozen=True, eq=False)
class _Message:
    format: ClassVar[Format]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary of JSON values, with the arrays under `"arrays"`."""
        made = self.format.head()
        arrays: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            (arrays if field.name in _DTYPES else made)[field.name] = value
        return {**made, "arrays": arrays}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Self:
        """Read what `to_dict` gave; arrays may be lists, as JSON makes them."""
        cls.format.check(given, "the given message")
        try:
            values: dict[str, Any] = {}
            for field in fields(cls):
                if field.name in _DTYPES:
                    values[field.name] = _array(field.name, given["arrays"][field.name])
                else:
                    kind = bool if field.name == "double" else int
                    values[field.name] = kind(given[field.name])
            if values["keys"].size == 0:
                values["values"] = np.empty((0, values["loads"].size))
            made = cls(**values)
            made._check()
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptState(f"{cls.format.what} is damaged: {error}") from error
        return made

    def _check(self) -> None:
        """Raise ValueError where the parts do not fit together."""


def _array(name: str, given: Any) -> NDArray[Any]:
    dtype, dimensions = _DTYPES[name]
    array = np.asarray(given, dtype=dtype)
    if array.shape == (0,):
        # Lists do not tell the dimensions of an empty array.
        array = array.reshape((0,) * dimensions)
    if array.ndim != dimensions:
        raise ValueError(f"{name} must have {dimensions} dimensions; got {array.ndim}")
    return array


def _check_rows(keys: NDArray[np.uint64], values: NDArray[np.float64], lanes: int) -> None:
    if keys.size and values.shape != (keys.size, lanes):
        raise ValueError(f"{keys.size} keys and {lanes} lanes with values of {values.shape}")
    if np.unique(keys).size != keys.size:
        raise ValueError("keys must hold each key once")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite")


@dataclass(frozen=True, eq=False)
class SyncMessage(_Message):
    """What one partitioner tells the reducer.

    Attributes
    ----------
    round
        Number of the statistics window that ends with this message, from 0.
    records
        Tuples routed in that window.
    double
        Whether the last answer came so late that the interval should be doubled.
    keys, values
        The local Q-table: hot keys, and one row of values per key.
    top_keys, top_counts
        The window's most frequent keys, each once, and how often each was seen.
    loads
        Tuples on each lane in this partitioner's sliding window.
    """

    format: ClassVar[Format] = Format("trimtab.dalton-sync", 1, "a message to Dalton's reducer")

    round: int
    records: int
    double: bool
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    top_keys: NDArray[np.uint64]
    top_counts: NDArray[np.int64]
    loads: NDArray[np.int64]

    def _check(self) -> None:
        _check_rows(self.keys, self.values, self.loads.size)
        if self.top_keys.size != self.top_counts.size:
            raise ValueError("top_keys and top_counts must be of one length")
        if np.unique(self.top_keys).size != self.top_keys.size:
            raise ValueError("top_keys must hold each key once")


@dataclass(frozen=True, eq=False)
class GlobalTable(_Message):
    """What the reducer tells all partitioners.

    Attributes
    ----------
    round
        Number of the round that it answers.
    records
        Tuples that all partitioners routed in that round.
    interval
        Tuples after which each partitioner is to send its next message.
    keys, values
        The global Q-table.
    until
        Last statistics window in which each key is hot, unless a later table says more.
    loads
        Tuples on each lane, of all partitioners together.
    """

    format: ClassVar[Format] = Format("trimtab.dalton-global", 1, "an answer of Dalton's reducer")

    round: int
    records: int
    interval: int
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    until: NDArray[np.int64]
    loads: NDArray[np.int64]

    def _check(self) -> None:
        _check_rows(self.keys, self.values, self.loads.size)
        if self.until.size != self.keys.size:
            raise ValueError("keys and until must be of one length")
