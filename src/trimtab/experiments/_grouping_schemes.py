"""What the Consistent Grouping experiments share: the schemes by their symbols, and pages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import router
from trimtab.experiments.base import Cell, Setting
from trimtab.metrics import replication
from trimtab.routers import Router
from trimtab.workloads.laws import wikipedia_pages

SCHEMES = {
    "KG": "hash",
    "PKG": "pkg",
    "PoTC": "potc",
    "PoRC": "porc",
    "CH": "bounded-ch",
    "SG": "shuffle",
}
EPSILON = 0.01
WORKERS = (5, 10, 50, 100)
Hashes = NDArray[np.uint64]


def scheme(symbol: str, bins: int, seed: int, epsilon: float = EPSILON) -> Router:
    """Make the router that a symbol of the paper's Table 3 stands for, as the paper has it."""
    name = SCHEMES[symbol]
    parameters: dict[str, Any] = {}
    if symbol in ("PKG", "PoTC", "PoRC", "CH"):
        parameters = {"seed": seed, "endless": True}
    if symbol in ("PoRC", "CH"):
        parameters["epsilon"] = epsilon
    return router(name, lanes=bins, **parameters)


def grouping(workers: int, seed: int, virtual: int = 10, epsilon: float = EPSILON) -> Router:
    return router("cg", lanes=workers, virtual=virtual, epsilon=epsilon, seed=seed, endless=True)


def measured(chosen: Router, keys: Hashes) -> dict[str, Cell]:
    """Return the normalised imbalance (max over mean, less one) and the lanes per key."""
    lanes = chosen.route(keys)
    loads = np.bincount(lanes, minlength=chosen.lanes)
    return {
        "imbalance": float(loads.max() / loads.mean() - 1),
        "memory": replication(keys, lanes),
    }


def pages(setting: Setting, seed: int, tuples: int = 1_000_000) -> Hashes:
    return wikipedia_pages(0.1).hashes(setting.size(tuples, 60_000), seed)
