"""Every router on the grid of Zipf exponents and lanes: speed, balance, replication.

2,000,000 tuples, 100,000 keys, one core, compilation excluded. The yardstick is numpy's
`hashes % lanes` over the same array in the same run. Times are CPU times, best of a few runs, so
that what else the machine does matters less.

    python benchmarks/kernels.py [--routers pkg,cam] [--z 1.0] [--lanes 64] [--quick]
    python benchmarks/kernels.py --data events.parquet [--key user]
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from machine import facts, heading
from trimtab import hash_keys, router
from trimtab.metrics import least_replication, max_over_mean, replication
from trimtab.routers import ROUTERS, Router
from trimtab.workloads import zipf_ids

SEED = 7
KEYS = 100_000
WINDOW = 100_000

# The aims at 64 lanes and Zipf 1.0, as ratios to the yardstick.
AIMS = {
    "hash": 1, "shuffle": 1, "potc": 4, "pkg": 4, "am": 5, "cam": 5, "cm": 12, "lm": 12,
    "cm-hll": 12, "am-hll": 12, "cam-hll": 12, "lm-hll": 12, "ch": 6, "bounded-ch": 10,
    "porc": 10, "cg": 12, "dagreedy": 30, "dalton": 15, "trim": 12,
}  # fmt: skip

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in ROUTERS} | {
    "pkg-5": ("pkg", {"choices": 5}),
    **{f"{name}-hll": (name, {"cardinality": "hll"}) for name in ("cm", "am", "cam", "lm")},
    "trim-whole": ("trim", {"split": False}),
}


def best_of(runs: int, call: Callable[[], object]) -> float:
    """Return the least CPU time of several calls."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def make(variant: str, lanes: int) -> Router:
    name, parameters = VARIANTS[variant]
    return router(name, lanes=lanes, seed=SEED, **parameters)


def run(r: Router, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Route the stream, ending a window every 100,000 tuples."""
    parts = []
    for start in range(0, hashes.size, WINDOW):
        parts.append(r.route(hashes[start : start + WINDOW]))
        r.advance()
    return np.concatenate(parts)


def windows(
    hashes: NDArray[np.uint64], lanes: NDArray[np.int32], n: int
) -> Iterator[tuple[float, float, float]]:
    """Return max/mean - 1, replication and the least replication of each window."""
    for start in range(0, hashes.size, WINDOW):
        keys, placed = hashes[start : start + WINDOW], lanes[start : start + WINDOW]
        counts = np.unique(keys, return_counts=True)[1]
        yield (
            max_over_mean(np.bincount(placed, minlength=n)) - 1,
            replication(keys, placed),
            least_replication(counts, n),
        )


def measure(variant: str, lanes: int, hashes: NDArray[np.uint64], runs: int) -> dict[str, Any]:
    run(make(variant, lanes), hashes[: 2 * WINDOW])  # compiles
    seconds = best_of(runs, lambda: run(make(variant, lanes), hashes))
    routed = run(make(variant, lanes), hashes)
    per_window = np.array(list(windows(hashes, routed, lanes)))
    later = per_window[1:] if len(per_window) > 1 else per_window
    return {
        "ns": seconds / hashes.size * 1e9,
        "run_imbalance": max_over_mean(np.bincount(routed, minlength=lanes)) - 1,
        "run_replication": replication(hashes, routed),
        "window_imbalance_mean": later[:, 0].mean(),
        "window_imbalance_max": later[:, 0].max(),
        "window_replication": later[:, 1].mean(),
        "window_over_least_max": (later[:, 1] / later[:, 2]).max() - 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routers", default=",".join(VARIANTS))
    parser.add_argument("--z", default="0.5,1.0,1.5,2.0")
    parser.add_argument("--lanes", default="8,16,32,64")
    parser.add_argument("--tuples", type=int, default=2_000_000)
    parser.add_argument("--data", type=Path, help="a Parquet file instead of Zipf streams")
    parser.add_argument("--key", default="key", help="its key column")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only Zipf 1.0 and 1.5, 64 lanes")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    exponents = ("1.0,1.5" if options.quick else options.z).split(",")
    lane_counts = [int(n) for n in ("64" if options.quick else options.lanes).split(",")]

    console = Console(width=150)
    if options.data:
        column = pq.read_table(options.data, columns=[options.key])[options.key]
        streams = {options.data.stem: hash_keys(column)}
    else:
        streams = {
            f"Zipf {z}": hash_keys(zipf_ids(options.tuples, KEYS, float(z), SEED))
            for z in exponents
        }
    console.print(heading("Routers: speed, balance and replication", SEED))
    rows = []
    for stream, hashes in streams.items():
        for n in lane_counts:
            yardstick = best_of(5, lambda h=hashes, d=n: h % np.uint64(d)) / hashes.size * 1e9
            table = Table(
                title=f"{stream}: {hashes.size:,} tuples, {np.unique(hashes).size:,} keys, "
                f"{n} lanes; yardstick {yardstick:.2f} ns per tuple"
            )
            for column in (
                "router", "ns", "ratio", "aim", "run: max/mean-1", "replication",
                "per window: mean", "worst", "replication", "over the least",
            ):  # fmt: skip
                table.add_column(column, justify="left" if column == "router" else "right")
            for variant in track(
                options.routers.split(","), f"{stream}, {n} lanes", transient=True
            ):
                row = measure(variant, n, hashes, options.runs)
                row |= {
                    "router": variant,
                    "stream": stream,
                    "lanes": n,
                    "ratio": row["ns"] / yardstick,
                }
                rows.append(row)
                aimed = stream == "Zipf 1.0" and n == 64 and variant in AIMS
                table.add_row(
                    variant,
                    f"{row['ns']:.1f}",
                    f"{row['ratio']:.1f}",
                    str(AIMS[variant]) if aimed else "",
                    f"{row['run_imbalance']:.4f}",
                    f"{row['run_replication']:.3f}",
                    f"{row['window_imbalance_mean']:.4f}",
                    f"{row['window_imbalance_max']:.4f}",
                    f"{row['window_replication']:.3f}",
                    f"{row['window_over_least_max']:+.1%}",
                )
            console.print(table)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "kernels.csv"
    with path.open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in facts(SEED).items())
        writer = csv.DictWriter(file, fieldnames=sorted(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    console.print(f"rows kept in {path}")


if __name__ == "__main__":
    main()
