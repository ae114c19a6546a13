"""Partitioners as a stranger would add them: one class each, and a line in a registry."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from trimtab._parameters import LANES, SEED, Parameter, Whole
from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners import PLANNERS, Planner
from trimtab.routers import ROUTERS, Router

SHIFT = Parameter("shift", 1, Whole(0, 1000), "how far from its hash lane a key goes")


class ToyRouter(Router):
    """Send each key to a lane beside its hash lane, in every task the same."""

    name = "toy-router"
    paper = "nobody"
    splits_keys = False
    takes = (LANES, SHIFT, SEED)
    same_lane_in_every_task = True
    cost = "one addition and one remainder per tuple"
    state_in_words = "none at all"
    use_when = "to show how a router is added"

    def __init__(self, lanes: int, shift: int = 1, seed: int = 0) -> None:
        super().__init__(lanes, seed)
        self.shift = self._check(SHIFT, shift)

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        lanes[:] = (hashes % np.uint64(self.lanes) + np.uint64(self.shift)) % np.uint64(self.lanes)
        self._loads += np.bincount(lanes, minlength=self.lanes)


class ToySplitter(Router):
    """Send the tuples of a key to its hash lane and to the next one in turn."""

    name = "toy-splitter"
    paper = "nobody"
    cost = "one addition and one remainder per tuple"
    state_in_words = "a counter of tuples"
    use_when = "to show a router that splits"

    _learned = ("_position",)

    def __init__(self, lanes: int, seed: int = 0) -> None:
        super().__init__(lanes, seed)
        self._position = 0

    def _route(self, hashes: NDArray[np.uint64], lanes: NDArray[np.int32]) -> None:
        turn = np.arange(self._position, self._position + hashes.size, dtype=np.uint64)
        lanes[:] = (hashes % np.uint64(self.lanes) + turn % np.uint64(2)) % np.uint64(self.lanes)
        self._loads += np.bincount(lanes, minlength=self.lanes)
        self._position += hashes.size


class ToyPlanner(Planner):
    """Give the heaviest key to the last lane and hash all others."""

    name = "toy-planner"
    paper = "nobody"
    cost = "one look at the heaviest key"
    state_in_words = "nothing to remember"
    use_when = "to show how a planner is added"

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        heaviest = {int(key): self.lanes - 1 for key in histogram.hashes[:1]}
        return Plan(self.lanes, heaviest, maker=self.name)


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter the toys in the registries, for one test."""
    for registry, toy in ((ROUTERS, ToyRouter), (ROUTERS, ToySplitter), (PLANNERS, ToyPlanner)):
        monkeypatch.setitem(registry, toy.name, f"{toy.__module__}:{toy.__name__}")
