"""What cm, am, cam and lm share: candidates, windows, and the distinct keys of every lane."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import inline, salts
from trimtab._parameters import LANES, SEED, OneOf, Parameter, Whole
from trimtab._table import KeyTable, Table
from trimtab.errors import CorruptState
from trimtab.routers.base import Router
from trimtab.sketches.hyperloglog import DEFAULT_BITS, estimate_of, raise_register

BITS = DEFAULT_BITS
"""Each lane's HyperLogLog has `2^BITS` registers, as in the Holistic paper."""

MOST_CHOICES = 31
"""A key's candidates are marked in the bits of a table's slot, which is a non-negative int32."""

CHOICES = Parameter(
    "choices", 2, Whole(1, MOST_CHOICES), "candidates per key; more level better; 1 is hashing"
)
CARDINALITY = Parameter(
    "cardinality", "exact", OneOf(("exact", "hll")), "'hll' estimates in 4,096 bytes per lane"
)

Sketch = tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.int64]]


class CardinalityRouter(Router):
    """A router that counts the distinct keys it sends to each lane in a window.

    Exact counting remembers every key of the window, and which of its candidates have it. Estimated
    counting keeps `2^12` one-byte registers per lane, however many keys there are.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    choices
        Candidates per key, 1..31.
    cardinality
        "exact" or "hll".
    seed
        Chooses the hash functions.
    """

    takes: ClassVar[tuple[Parameter[Any], ...]] = (LANES, CHOICES, CARDINALITY, SEED)
    state_in_words = "keys of the window"

    _learned = ("_seen", "_distinct", "_registers")

    def __init__(
        self, lanes: int, choices: int = 2, cardinality: str = "exact", seed: int = 0
    ) -> None:
        super().__init__(lanes, seed)
        self.choices = self._check(CHOICES, choices)
        self.cardinality = self._check(CARDINALITY, cardinality)
        self._salts = salts(self.seed, self.choices)
        self._seen = KeyTable()
        self._distinct: NDArray[np.float64] = np.zeros(self.lanes)
        sketched = self.lanes if self.cardinality == "hll" else 0
        self._registers: NDArray[np.uint8] = np.zeros((sketched, 1 << BITS), dtype=np.uint8)
        self._sums: NDArray[np.float64] = np.full(sketched, 2.0**BITS)
        self._zeros: NDArray[np.int64] = np.full(sketched, 1 << BITS)

    @classmethod
    def example_parameters(cls) -> tuple[dict[str, Any], ...]:
        """Return both ways to count: all kernels are tried."""
        return ({"cardinality": "hll"},)

    def distinct(self) -> NDArray[np.float64]:
        """Return the number of distinct keys sent to each lane in this window, or its estimate."""
        return self._distinct.copy()

    def advance(self) -> None:
        """End the window: tuple counts and key sets start afresh."""
        self._end_window()
        self._seen.clear()
        self._distinct[:] = 0
        self._registers[:] = 0
        self._sums[:] = 2.0**BITS
        self._zeros[:] = 1 << BITS

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        if self.cardinality == "hll":
            self._route_estimated(hashes, lanes, (self._registers, self._sums, self._zeros))
            return
        done = 0
        while done < hashes.size:
            done = self._route_exact(hashes, lanes, done, self._seen.arrays)
            if done < hashes.size:
                self._seen.grow()

    @abstractmethod
    def _route_exact(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], start: int, table: Table
    ) -> int:
        """Route from `start` on; return where a half-full table stopped it, or the end."""

    @abstractmethod
    def _route_estimated(
        self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32], sketch: Sketch
    ) -> None:
        """Route everything, with one HyperLogLog per lane."""

    def _restored(self) -> None:
        if (
            self._distinct.shape != (self.lanes,)
            or self._registers.shape != (self._sums.size, 1 << BITS)
            or self._registers.max(initial=0) > 52 - BITS
            or self._seen.slots.max() >= self._slot_limit
        ):
            raise CorruptState(
                f"state of router {self.name!r} does not fit {self.lanes} lanes and "
                f"{self.choices} choices; restore from an undamaged state"
            )
        for lane, registers in enumerate(self._registers):
            self._sums[lane] = np.exp2(-registers.astype(np.float64)).sum()
            self._zeros[lane] = np.count_nonzero(registers == 0)

    @property
    def _slot_limit(self) -> int:
        """Slots of the table are below this."""
        return 1 << self.choices


@inline
def add_to_sketch(
    sketch: Sketch,
    distinct: NDArray[np.float64],
    lane: np.uint64,
    register: np.uint64,
    rank: np.uint8,
) -> None:
    """Add a key to a lane's HyperLogLog, whose register it raises, and estimate the lane anew."""
    registers, sums, zeros = sketch
    raise_register(registers, sums, zeros, np.int64(lane), np.int64(register), rank)
    distinct[lane] = estimate_of(sums[lane], zeros[lane], 1 << BITS)
