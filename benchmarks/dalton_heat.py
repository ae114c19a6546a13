"""Dalton by `heat`: how level it is and what it replicates, tuple by tuple and in micro-batches.

Tuple by tuple: windows of 100,000, the first one left out. In micro-batches: 16,000 rows, routed by
four instances that cooperate, each told the batch's counts first, as the tasks of a stream are;
every batch counts, the first one too. Each cell is max/mean - 1, mean and worst, and replication
over the least.

    python benchmarks/dalton_heat.py [--lanes 16] [--data events.parquet ...] [--key user]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trimtab import Histogram, hash_keys
from trimtab.control.q_sync import QTableReducer
from trimtab.metrics import least_replication, max_over_mean, replication
from trimtab.routers.dalton import DaltonRouter
from trimtab.workloads import zipf_ids

SEED = 7
TUPLES, KEYS = 1_000_000, 100_000
WINDOW, ROWS, BATCHES, TASKS = 100_000, 16_000, 24, 4
HEATS = (1.0, 0.5, 0.25, 0.125)

Hashes = NDArray[np.uint64]
Routed = Iterator[tuple[Hashes, NDArray[np.int32]]]


def streams(files: list[Path], key: str) -> Iterator[tuple[str, Hashes]]:
    """Return Zipf streams, one whose keys are all new every 64,000 tuples, and those of files."""
    for z in (0.8, 1.0, 1.2, 1.5, 2.0):
        yield f"Zipf {z}", hash_keys(zipf_ids(TUPLES, KEYS, z, SEED))
    ids = zipf_ids(TUPLES, KEYS, 1.2, SEED) + np.arange(TUPLES) // (4 * ROWS) * KEYS
    yield "Zipf 1.2, drifting", hash_keys(ids)
    for path in files:
        column = pq.read_table(path, columns=[key])[key].slice(0, TUPLES)
        yield path.stem, hash_keys(column.combine_chunks())


def by_tuple(hashes: Hashes, lanes: int, heat: float) -> Routed:
    """Route in windows; return those after the first."""
    r = DaltonRouter(lanes, heat=heat, seed=SEED)
    for start in range(0, hashes.size, WINDOW):
        window = hashes[start : start + WINDOW]
        routed = r.route(window)
        r.advance()
        if start:
            yield window, routed


def by_batch(hashes: Hashes, lanes: int, heat: float) -> Routed:
    """Route in micro-batches, as the map tasks of a stream do."""
    tasks = [DaltonRouter(lanes, 1, heat=heat, cooperate=True, seed=SEED) for _ in range(TASKS)]
    reducer = QTableReducer(lanes, TASKS, ROWS // TASKS, heat=heat)
    for start in range(0, BATCHES * ROWS, ROWS):
        batch = hashes[start : start + ROWS]
        counts = Histogram.from_hashes(batch)
        parts = []
        for task, part in zip(tasks, np.array_split(batch, TASKS), strict=True):
            task.expect(counts)
            parts.append(task.route(part))
        table = reducer.merge([task.sync_message() for task in tasks])
        for task in tasks:
            task.receive(table)
            task.advance()
        yield batch, np.concatenate(parts)


def cell(routed: Routed, lanes: int) -> str:
    """Return imbalance, mean and worst, and replication over the least."""
    found = []
    for keys, placed in routed:
        least = least_replication(np.unique(keys, return_counts=True)[1], lanes)
        level = max_over_mean(np.bincount(placed, minlength=lanes)) - 1
        found.append((level, replication(keys, placed) / least))
    level, copies = np.array(found).T
    return f"{level.mean():.2f}, {level.max():.2f}, {copies.mean():.2f}"


def main() -> None:
    """Print one table for each way of routing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--key", default="key")
    given = parser.parse_args()
    ways: dict[str, Callable[[Hashes, int, float], Routed]] = {
        "tuple by tuple": by_tuple,
        "in micro-batches": by_batch,
    }
    for words, route in ways.items():
        print(f"| {words}, {given.lanes} lanes |" + "".join(f" heat {h} |" for h in HEATS))
        print("|---|" + "---|" * len(HEATS))
        for name, hashes in streams(given.data, given.key):
            cells = (cell(route(hashes, given.lanes, heat), given.lanes) for heat in HEATS)
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        print()


if __name__ == "__main__":
    main()
