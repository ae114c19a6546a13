"""Every sketch: ns per tuple, error and memory; CountTree against a post-sort.

2,000,000 tuples, 100,000 keys, Zipf 1.0, one core, compilation excluded. The yardstick is numpy's
`hashes % 64` over the same array in the same run. Times are CPU times, best of a few runs, so that
what else the machine does matters less.

    python benchmarks/sketches.py [--z 1.0] [--tuples 2000000] [--runs 5]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from machine import heading
from trimtab import hash_keys
from trimtab._table import KeyTable
from trimtab.sketches import (
    CountMin,
    CountTree,
    DriftHistogram,
    ExactCounts,
    HyperLogLog,
    LossyCounting,
    Sketch,
    SpaceSaving,
    sorted_counts,
)
from trimtab.workloads import zipf_ids

SEED = 7
KEYS = 100_000
LANES = 64
TOP = 128  # two heavy keys per lane, DR's choice
BUDGETS = (2, 4, 8, 16)

Hashes = NDArray[np.uint64]


def sketches(hashes: Hashes) -> dict[str, Callable[[], Any]]:
    distinct = np.unique(hashes).size
    return {
        "ExactCounts": ExactCounts,
        "SpaceSaving(1024)": lambda: SpaceSaving(1024),
        "LossyCounting(0.001)": lambda: LossyCounting(0.001),
        "CountMin(0.001, 0.01)": lambda: CountMin(0.001, 0.01, seed=SEED),
        "HyperLogLog(12)": HyperLogLog,
        "CountTree(budget=8)": lambda: CountTree(hashes.size, distinct),
        "DriftHistogram(512, deepest=0)": lambda: DriftHistogram(512, deepest=0, seed=SEED),
        "DriftHistogram(512, deepest=4)": lambda: DriftHistogram(512, deepest=4, seed=SEED),
    }


def best_of(runs: int, prepare: Callable[[], Any], call: Callable[[Any], object]) -> float:
    """Return the least CPU time of `call` over several freshly prepared arguments."""
    times = []
    for _ in range(runs):
        argument = prepare()
        start = time.process_time()
        call(argument)
        times.append(time.process_time() - start)
    return min(times)


def array_bytes(sketch: Sketch) -> int:
    """Add up every array that the sketch or its table holds."""
    values = list(vars(sketch).values())
    tables = [value for value in values if isinstance(value, KeyTable)]
    values += [array for table in tables for array in vars(table).values()]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def error_of_top(sketch: Any, hashes: Hashes) -> str:
    """Return the largest error among the heaviest keys, as a share of the stream."""
    keys, counts = np.unique(hashes, return_counts=True)
    if isinstance(sketch, HyperLogLog):
        return f"{sketch.distinct / keys.size - 1:+.2%} of distinct"
    heavy = np.argsort(-counts)[:TOP]
    if hasattr(sketch, "estimate"):
        found = sketch.estimate(keys[heavy])
    else:
        held = dict(zip(*(part.tolist() for part in sketch.items()), strict=True))
        found = np.array([held.get(key, 0.0) for key in keys[heavy].tolist()])
    return f"{np.abs(found - counts[heavy]).max() / hashes.size:.4%} of stream"


def speed_table(hashes: Hashes, runs: int) -> Table:
    yardstick = best_of(runs, lambda: None, lambda _: hashes % np.uint64(LANES))
    unique = best_of(2, lambda: None, lambda _: np.unique(hashes, return_counts=True))
    table = Table(
        title=f"update: yardstick {yardstick / hashes.size * 1e9:.2f} ns per tuple, "
        f"np.unique {unique / hashes.size * 1e9:.1f} ns",
    )
    for column in ("sketch", "ns", "ratio", "memory", f"worst error of the top {TOP}"):
        table.add_column(column, justify="left" if column == "sketch" else "right")

    def row(name: str, seconds: float, sketch: Any) -> None:
        table.add_row(
            name,
            f"{seconds / hashes.size * 1e9:.1f}",
            f"{seconds / yardstick:.1f}",
            f"{array_bytes(sketch) / 1024:,.0f} KiB",
            error_of_top(sketch, hashes),
        )

    for name, make in sketches(hashes).items():
        sketch = make()
        sketch.update(hashes)  # compiles
        row(name, best_of(runs, make, lambda made: made.update(hashes)), sketch)
        if isinstance(sketch, CountMin):
            sketch = make()
            sketch.add_and_estimate(hashes)
            seconds = best_of(runs, make, lambda made: made.add_and_estimate(hashes))
            row("  ... add_and_estimate", seconds, sketch)
    return table


def out_of_place(counts: NDArray[Any]) -> float:
    """Return the weight that stands at another rank than its own, as a share of all."""
    exact = np.sort(counts)[::-1]
    return float(np.abs(exact - counts).sum() / counts.sum())


def heartbeat_table(hashes: Hashes, runs: int) -> Table:
    table = Table(title="a sorted list of the batch's keys at the heartbeat")
    for column in ("way", "during batch, ms", "at heartbeat, ms", "total, ms", "moves per key",
                   "weight out of place"):  # fmt: skip
        table.add_column(column, justify="left" if column == "way" else "right")

    def counted(make: Callable[[], Any]) -> Any:
        made = make()
        made.update(hashes)
        return made

    def row(
        name: str, make: Callable[[], Any], end: Callable[[Any], Any], moves: str, misplaced: float
    ) -> None:
        during = best_of(runs, make, lambda made: made.update(hashes)) * 1e3
        left = best_of(runs, lambda: counted(make), end) * 1e3
        table.add_row(
            name, f"{during:.1f}", f"{left:.2f}", f"{during + left:.1f}", moves, f"{misplaced:.2%}"
        )

    exact = counted(ExactCounts)
    row("exact, post-sort", ExactCounts, sorted_counts, "", out_of_place(sorted_counts(exact)[1]))
    for budget in BUDGETS:

        def make(budget: int = budget) -> CountTree:
            return CountTree(hashes.size, exact.distinct, budget)

        tree = counted(make)
        moves = f"{tree.filed()[1].mean():.2f}"
        misplaced = out_of_place(tree.quasi_sorted()[1])
        row(f"CountTree, budget {budget}", make, lambda t: t.quasi_sorted(), moves, misplaced)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--z", type=float, default=1.0)
    parser.add_argument("--tuples", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    console = Console(width=120)
    console.print(heading("Sketches: speed, memory and error", SEED))
    hashes = hash_keys(zipf_ids(options.tuples, KEYS, options.z, SEED))
    console.print(
        f"  stream: {hashes.size:,} tuples, {np.unique(hashes).size:,} keys, Zipf {options.z}"
    )
    console.print(speed_table(hashes, options.runs))
    console.print(heartbeat_table(hashes, options.runs))


if __name__ == "__main__":
    main()
