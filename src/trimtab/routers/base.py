"""The contract of every router: key hashes in, lanes out, one decision per tuple.

A router decides and never acts: it knows neither Spark nor the records, only key hashes and what it
has counted itself. Its state is arrays and JSON, so that a checkpoint can hold it.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import key_hashes, lane_count, seed_number
from trimtab._described import Described
from trimtab._format import Format
from trimtab._parameters import LANES, SEED, Parameter
from trimtab._table import KeyTable
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan

_FORMAT = Format("trimtab.router", 1, "the state of a router")


class Router(Described, ABC):
    """A partitioner that decides tuple by tuple, its state advancing.

    Subclasses set the class attributes here and in `Described`, write their kernel behind `_route`,
    count every tuple in `_loads`, and name what they learn in `_learned`. Where a window resets the
    loads, they call `_end_window`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    seed
        Chooses the hash functions and the random decisions. The same seed gives the same lanes.
    """

    splits_keys: bool = True
    """Whether one instance may put a key on several lanes at once, inside a window."""
    takes: ClassVar[tuple[Parameter[Any], ...]] = (LANES, SEED)

    same_lane_in_every_task: ClassVar[bool] = False
    """Whether the lane follows from the key alone. On Spark every task has an instance of its own;
    all other routers may then send a key to a lane in one task and to another lane in the next."""
    ignores_keys: ClassVar[bool] = False
    """Whether the lane has nothing to do with the key: lanes are level and keys are everywhere."""
    hashes_the_tail: ClassVar[bool] = False
    """Whether only hot keys are steered, and all others go where plain hashing sends them."""
    passes_to_learn: ClassVar[int] = 0
    """How often it goes through a sample to learn before a prediction measures it."""
    stream_parameters: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Constructor arguments that suit micro-batches, unless the user says otherwise."""

    heeds_counts: ClassVar[bool] = False
    """Whether it makes use of what `expect` is told: then it pays to count a batch before it is
    routed."""

    decides_once: ClassVar[bool] = False
    """Whether it can `decide` for all tasks together where the keys of a window were counted. Given
    by its name, it then keeps keys whole on Spark."""

    _learned: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold learned state: arrays, numbers or `KeyTable`s."""

    def __init__(self, lanes: int, seed: int = 0) -> None:
        self.lanes = lane_count(lanes)
        self.seed = seed_number(seed)
        self._loads: NDArray[np.int64] = np.zeros(self.lanes, dtype=np.int64)
        self._past: NDArray[np.int64] = np.zeros(self.lanes, dtype=np.int64)

    @property
    def splits_keys_in_tasks(self) -> bool:
        """Whether a key may be on several lanes where each task has an instance of its own."""
        return not self.same_lane_in_every_task

    def route(self, hashes: ArrayLike) -> NDArray[np.int32]:
        """Return the lane of each tuple, in order; halves routed in turn equal the whole."""
        keys = key_hashes(hashes)
        lanes = np.empty(keys.size, dtype=np.int32)
        if keys.size:
            self._route(keys, lanes)
        return lanes

    @abstractmethod
    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        """Write the lane of each hash into `lanes`; never called with no hashes."""

    def advance(self) -> None:
        """Tell the router that a slide, window or batch has ended; not every router has windows."""

    def expect(self, histogram: Histogram) -> None:
        """Tell the router which keys the coming batch holds, before its first tuple.

        The counts may be those of a sample, and of the tuples of all routers that share the lanes.
        Routers that do not heed them decide as ever.
        """

    def decide(self, histogram: Histogram) -> Plan:
        """Decide once for each key of a counted window; see `decides_once`."""
        raise InvalidArgument(
            f"router {self.name!r} decides as tuples come; only routers of whole keys, such as "
            "'cam', decide beforehand"
        )

    def loads(self) -> NDArray[np.int64]:
        """Return the number of tuples sent to each lane since the router was made."""
        return self._past + self._loads

    def _end_window(self) -> None:
        """Start counting loads afresh, keeping the totals."""
        self._past += self._loads
        self._loads[:] = 0

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments, as JSON can hold them."""
        names = inspect.signature(type(self).__init__).parameters
        values = {name: getattr(self, name) for name in names if name != "self"}
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}

    def state(self) -> dict[str, Any]:
        """Return everything the router has learned: JSON values and plain arrays, all copies."""
        values: dict[str, int | float] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for field in ("_loads", "_past", *self._learned):
            value = getattr(self, field)
            if isinstance(value, KeyTable):
                arrays[f"{field}.keys"], arrays[f"{field}.slots"] = value.entries()
            elif isinstance(value, np.ndarray):
                arrays[field] = value.copy()
            else:
                values[field] = value
        return {
            **_FORMAT.head(),
            "name": self.name,
            "parameters": self.parameters(),
            "values": values,
            "arrays": arrays,
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Make a router that goes on exactly where the one that gave `state` stood."""
        _FORMAT.check(state, "the given state")
        if state.get("name") != cls.name:
            raise CorruptState(f"state of router {state.get('name')!r} given to {cls.name!r}")
        made = cls(**state["parameters"])
        for field in ("_loads", "_past", *cls._learned):
            made._restore_field(field, state)
        # Kernels index loads by lane without a test.
        if {made._loads.shape, made._past.shape} != {(made.lanes,)}:
            raise CorruptState(
                f"state of router {cls.name!r} has {made._loads.size} loads for {made.lanes} lanes"
            )
        made._restored()
        return made

    def _restore_field(self, field: str, state: dict[str, Any]) -> None:
        arrays, values = state["arrays"], state["values"]
        current = getattr(self, field)
        try:
            if isinstance(current, KeyTable):
                keys, slots = arrays[f"{field}.keys"], arrays[f"{field}.slots"]
                current.fill(_as(keys, np.uint64, 1), _as(slots, np.int32, 1))
            elif isinstance(current, np.ndarray):
                setattr(self, field, _as(arrays[field], current.dtype, current.ndim))
            else:
                setattr(self, field, type(current)(values[field]))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(
                f"state of router {self.name!r} has no usable {field!r}: {error}"
            ) from error

    def _restored(self) -> None:
        """Derive again what is not part of the state; most routers have nothing to derive."""


def _as(value: Any, dtype: Any, ndim: int) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype != dtype or array.ndim != ndim:
        raise ValueError(f"expected {ndim}-d {np.dtype(dtype)}, got {array.ndim}-d {array.dtype}")
    return array.copy()
