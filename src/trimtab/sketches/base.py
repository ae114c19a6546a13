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

from trimtab._checks import key_hashes, real
from trimtab._format import Format
from trimtab.errors import CorruptState, InvalidArgument

_FORMAT = Format("trimtab.sketch", 1, "the state of a sketch")


class Sketch(ABC):
    """A summary of a stream of key hashes.

    Subclasses set `name` and say in `_pack` and `_unpack` what they have learned. Public attributes
    are the constructor's arguments.
    """

    name: ClassVar[str]
    """The kind of sketch, written into its state."""

    def __init__(self) -> None:
        self._total = 0.0

    @abstractmethod
    def update(self, hashes: ArrayLike) -> None:
        """Count tuples, given by their key hashes, in order."""

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
        """Return the keys that the sketch knows one by one, each once, and their weights."""

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments, as JSON can hold them."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def state(self) -> dict[str, Any]:
        """Return everything the sketch has learned: JSON values and plain arrays, all copies."""
        packed = {"total": self._total, **self._pack()}
        arrays = {k: v.copy() for k, v in packed.items() if isinstance(v, np.ndarray)}
        return {
            **_FORMAT.head(),
            "name": self.name,
            "parameters": self.parameters(),
            "values": {k: v for k, v in packed.items() if k not in arrays},
            "arrays": arrays,
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Make a sketch that goes on exactly where the one that gave `state` stood."""
        _FORMAT.check(state, "the given state")
        if state.get("name") != cls.name:
            raise CorruptState(f"state of sketch {state.get('name')!r} given to {cls.name!r}")
        try:
            made = cls(**state["parameters"])
            stored = Stored({**state["values"], **state["arrays"]})
            made._total = stored.number("total")
            made._unpack(stored)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptState(f"state of sketch {cls.name!r} is damaged: {error}") from error
        return made

    @abstractmethod
    def _pack(self) -> dict[str, Any]:
        """Return what was learned besides the total: arrays, whole numbers and floats by name."""

    @abstractmethod
    def _unpack(self, stored: Stored) -> None:
        """Take what `_pack` gave, checking it; any ValueError means that it is damaged."""

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


class Stored:
    """Values and arrays read from a state; each is checked when it is taken."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def number(self, name: str, low: float = 0.0) -> float:
        """Take a finite number that is at least `low`."""
        return real(name, self._fields[name], low)

    def array(self, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
        """Take a copy of an array of this type and shape; None stands for any length."""
        array = np.array(self._fields[name])
        fits = len(shape) == array.ndim and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            raise ValueError(
                f"{name} must be {np.dtype(dtype)} of shape {shape}; "
                f"got {array.dtype} of shape {array.shape}"
            )
        return array

    def keys(self, name: str, most: int | None = None) -> NDArray[np.uint64]:
        """Take at most `most` key hashes, all different."""
        keys: NDArray[np.uint64] = self.array(name, np.uint64, None)
        if most is not None and keys.size > most:
            raise ValueError(f"{name} must be at most {most} keys; got {keys.size}")
        if np.unique(keys).size != keys.size:
            raise ValueError(f"{name} must hold each key once")
        return keys

    def weights(self, name: str, *shape: int | None) -> NDArray[np.float64]:
        """Take finite, non-negative weights."""
        weights: NDArray[np.float64] = self.array(name, np.float64, *shape)
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(f"{name} must be finite and >= 0")
        return weights


def weighted(
    hashes: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.uint64], NDArray[np.float64], int]:
    """Check tuples and their weights; return hashes, weights and the step from weight to weight.

    Without weights there is a single weight of one and the step is zero: kernels read it for every
    tuple, and need not be compiled for a second kind of input.
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
