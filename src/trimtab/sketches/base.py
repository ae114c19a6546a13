"""The contract of every sketch: key hashes in, a small summary of their counts out.

A sketch knows key hashes and weights only. `Histogram.from_sketch` reads `items()`, `total` and
`distinct`; checkpoints read `state()`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes
from trimtab.errors import CorruptState, InvalidArgument

STATE_FORMAT = "trimtab.sketch"
STATE_VERSION = 1


class Sketch(ABC):
    """A summary of a stream of key hashes.

    Subclasses set `name`, write `_update`, and name what they learn in `_learned`: arrays, whole
    numbers or floats. `_restored` checks what was read and derives what is not stored.
    """

    name: ClassVar[str]
    """The kind of sketch, written into its state."""

    _learned: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold learned state."""

    def __init__(self) -> None:
        self._total = 0.0

    @property
    def total(self) -> float:
        """Weight of all tuples seen; exact."""
        return self._total

    @property
    @abstractmethod
    def distinct(self) -> int:
        """Number of distinct keys seen; each sketch says how near it is."""

    @abstractmethod
    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Give the keys that the sketch knows one by one, by rising hash, and their weights."""

    def parameters(self) -> dict[str, Any]:
        """Give the constructor's arguments, as JSON can hold them."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def state(self) -> dict[str, Any]:
        """Give everything the sketch has learned: JSON values and plain arrays, all copies."""
        values: dict[str, int | float] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for field in ("_total", *self._learned):
            value = getattr(self, field)
            if isinstance(value, np.ndarray):
                arrays[field] = value.copy()
            else:
                values[field] = value
        return {
            "format": STATE_FORMAT,
            "version": STATE_VERSION,
            "name": self.name,
            "parameters": self.parameters(),
            "values": values,
            "arrays": arrays,
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Make a sketch that goes on exactly where the one that gave `state` stood."""
        if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
            raise CorruptState(f"not the state of a sketch: {state!r:.80}")
        if state.get("version") != STATE_VERSION:
            raise CorruptState(
                f"sketch state has version {state.get('version')!r}; this Trimtab reads version "
                f"{STATE_VERSION}; use the Trimtab that wrote it"
            )
        if state.get("name") != cls.name:
            raise CorruptState(f"state of sketch {state.get('name')!r} given to {cls.name!r}")
        try:
            made = cls(**state["parameters"])
            for field in ("_total", *cls._learned):
                current = getattr(made, field)
                if isinstance(current, np.ndarray):
                    read: Any = _like(current, state["arrays"][field])
                else:
                    read = type(current)(state["values"][field])
                setattr(made, field, read)
            made._restored()
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptState(f"state of sketch {cls.name!r} is damaged: {error}") from error
        return made

    def _restored(self) -> None:  # noqa: B027 - most sketches derive nothing
        """Check what was read, raising ValueError, and derive what is not part of the state."""

    def _check_mergeable(self, other: Self) -> None:
        """Refuse another kind of sketch, or one made with other parameters."""
        if type(other) is not type(self):
            raise InvalidArgument(
                f"a {type(self).__name__} merges with its own kind; got {type(other).__name__}"
            )
        mine, theirs = self.parameters(), other.parameters()
        if mine != theirs:
            raise InvalidArgument(
                f"sketches merge when their parameters are equal; got {mine} and {theirs}"
            )


def _like(current: NDArray[Any], value: Any) -> NDArray[Any]:
    """Copy a stored array if it has the type and the number of dimensions of `current`."""
    array = np.asarray(value)
    if array.dtype != current.dtype or array.ndim != current.ndim:
        raise ValueError(
            f"expected {current.ndim}-d {current.dtype}, got {array.ndim}-d {array.dtype}"
        )
    return array.copy()


def weighted(
    hashes: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.uint64], NDArray[np.float64], int]:
    """Check tuples and their weights; give hashes, weights and the step from weight to weight.

    Without weights the step is zero over a single one, so that kernels are compiled once only.
    """
    keys = key_hashes(hashes)
    if weights is None:
        return keys, np.ones(1), 0
    given = np.ascontiguousarray(weights, dtype=np.float64)
    if given.shape != keys.shape:
        raise InvalidArgument(
            f"weights must be one number per hash; got {given.size} for {keys.size}"
        )
    if given.size == 0:
        return keys, np.ones(1), 0
    if not np.isfinite(given).all() or given.min() < 0:
        raise InvalidArgument("weights must be finite and >= 0; got one that is not")
    return keys, given, 1
