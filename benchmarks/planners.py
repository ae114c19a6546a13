"""How long planning takes, how it grows, what routing by a plan costs, and how level it is.

Aims: a Prompt plan for 1,000,000 tuples, 100,000 keys and 64 lanes in under 50 ms, a KIP update
for 20 lanes and 40 heavy keys in under 0.5 ms, routing by a plan of 100,000 explicit keys within
5 times the cost of plain hashing. Times are CPU times on one core, from a finished histogram to a
finished plan, compilation excluded. The last tables repeat the setting in which the authors'
repartitioners were measured: 20 lanes, 40 heavy keys, 20 batches of 100,000, each plan used on
the next batch.

    python benchmarks/planners.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from machine import heading
from trimtab import Histogram, Plan, hash_keys, planner, router
from trimtab.metrics import lower_bound, max_over_mean
from trimtab.planners import PLANNERS, Planner
from trimtab.workloads import zipf_ids, zipf_shares

SEED = 7
RIVALS = ("readj", "redist")
"""Their time grows with the square of the tracked keys or worse: left out beyond 100 lanes."""


def timed(call: Callable[[], object], runs: int) -> tuple[float, float]:
    """Return median and best CPU time of a call in milliseconds, after one call to warm up."""
    call()
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append((time.process_time() - start) * 1e3)
    return median(times), min(times)


def counted(tuples: int, keys: int, z: float) -> Histogram:
    """Return the histogram of a Zipf stream in which every key appears."""
    ids = np.concatenate([np.arange(keys), zipf_ids(tuples - keys, keys, z, seed=SEED)])
    return Histogram.from_hashes(hash_keys(ids))


def aims(console: Console, runs: int) -> None:
    table = Table("aim", "median ms", "best ms", "allowed ms", title="The two aims")
    prompt = planner("prompt", lanes=64)
    for z in (0.5, 1.0, 1.5):
        h = counted(1_000_000, 100_000, z)
        took = timed(lambda h=h: prompt.plan(h), runs)
        table.add_row(
            f"prompt, 1,000,000 tuples, 100,000 keys, 64 lanes, Zipf {z:g}",
            f"{took[0]:.1f}",
            f"{took[1]:.1f}",
            "50",
        )
    hashes = hash_keys(zipf_ids(1_000_000, 100_000, 1.0, seed=SEED))
    kip = planner("kip", lanes=20)
    for what, h in (
        ("even tail", Histogram.from_hashes(hashes, top=40)),
        ("measured hosts", Histogram.from_hashes(hashes, top=40, hosts=2000)),
    ):
        first = kip.plan(h)
        for change, previous in (("first plan", None), ("update", first)):
            took = timed(lambda h=h, p=previous: kip.plan(h, p), 20 * runs)
            table.add_row(
                f"kip, 20 lanes, 40 heavy keys, {what}, {change}",
                f"{took[0]:.3f}",
                f"{took[1]:.3f}",
                "0.5",
            )
    console.print(table)


def growth(console: Console, runs: int) -> None:
    sizes = (10_000, 100_000, 1_000_000)
    table = Table(
        "planner",
        *(f"{n:,} keys" for n in sizes),
        title="Median ms by known keys, 64 lanes, Zipf 1",
    )
    histograms = [counted(5 * n, n, 1.0) for n in sizes]
    for name in PLANNERS:
        maker = planner(name, lanes=64)
        cells = [f"{timed(lambda m=maker, h=h: m.plan(h), runs)[0]:.2f}" for h in histograms]
        table.add_row(name, *cells)
    console.print(table)

    lanes_tried = (16, 64, 256, 1024)
    table = Table(
        "planner",
        *(f"{lanes} lanes" for lanes in lanes_tried),
        title="Median ms by lanes, 100,000 known keys, Zipf 1",
    )
    for name in PLANNERS:
        cells = []
        for lanes in lanes_tried:
            maker = planner(name, lanes=lanes)
            slow = name in RIVALS and lanes > 100
            took = timed(lambda m=maker: m.plan(histograms[1]), runs)[0] if not slow else 0.0
            cells.append("-" if slow else f"{took:.2f}")
        table.add_row(name, *cells)
    console.print(table)


def routing(console: Console, runs: int) -> None:
    table = Table(
        "router", "ns per tuple", "times hash", title="Routing 2,000,000 tuples, 64 lanes"
    )
    hashes = hash_keys(zipf_ids(2_000_000, 100_000, 1.0, seed=SEED))
    rows = hash_keys(np.arange(hashes.size))
    plain = router("hash", lanes=64)
    base = timed(lambda: plain.route(hashes), runs)[1]
    full = Histogram.from_hashes(np.concatenate([hashes, hash_keys(np.arange(100_000))]))
    plans = {
        "kip": planner("kip", lanes=64).plan(full.top(128)),
        "prompt": planner("prompt", lanes=64).plan(full),
    }
    table.add_row("hash, no plan", f"{base * 1e6 / hashes.size:.2f}", "1.00")
    for name, plan in plans.items():
        for what, row_hashes in (("by position", None), ("by row hash", rows)):
            took = timed(lambda p=plan, r=row_hashes: p.route(hashes, r), runs)[1]
            table.add_row(
                f"{name}, {len(plan):,} explicit keys, {what}",
                f"{took * 1e6 / hashes.size:.2f}",
                f"{took / base:.2f}",
            )
    console.print(table)


def batches(law: NDArray[np.float64], seed: int, swaps: int) -> list[NDArray[np.uint64]]:
    """Draw 20 batches; between two of them `swaps` pairs of the 500 hottest keys trade places."""
    rng = np.random.default_rng(seed)
    names, edges, made = rng.permutation(law.size), np.cumsum(law), []
    edges[-1] = 1.0
    for _ in range(20):
        ids = names[np.searchsorted(edges, rng.random(100_000), side="right")]
        made.append(hash_keys(ids))
        for a, b in rng.integers(0, 500, (swaps, 2)):
            names[[a, b]] = names[[b, a]]
    return made


def run(
    maker: Planner, hashes: list[NDArray[np.uint64]], exact: list[Histogram], hosts: int | None
) -> tuple[float, float, float, float]:
    """Return max/mean on the next batch, state moved first and later, the update's time in ms."""
    known = [Histogram.from_hashes(batch, top=40, hosts=hosts) for batch in hashes]
    plan, levels, moved, times = Plan(20), [], [], []
    for i in range(len(hashes) - 1):
        start = time.process_time()
        new = maker.plan(known[i], plan)
        times.append((time.process_time() - start) * 1e3)
        moved.append(plan.moved(new, exact[i]))
        plan = new
        rows = hash_keys(np.arange(hashes[i + 1].size))
        levels.append(max_over_mean(np.bincount(plan.route(hashes[i + 1], rows), minlength=20)))
    return float(np.mean(levels)), moved[0], float(np.mean(moved[1:])), median(times)


def repartitioners(console: Console, seeds: int) -> None:
    ranks = np.arange(1, 100_001, dtype=np.float64)
    flat = (ranks + 10) ** -1.5
    laws = {"Zipf 1": zipf_shares(100_000, 1.0), "(rank+10)^-1.5": flat / flat.sum()}
    for law_name, law in laws.items():
        for swaps in (0, 20):
            streams = [batches(law, SEED + s, swaps) for s in range(seeds)]
            counts = [[Histogram.from_hashes(batch) for batch in made] for made in streams]
            whole = np.mean(
                [lower_bound(h.weights, 20) / (h.total / 20) for made in counts for h in made]
            )
            drift = f"{swaps} swaps per batch" if swaps else "stationary"
            table = Table(
                "planner",
                "tail known as",
                "max/mean",
                "moved first",
                "moved later",
                "ms",
                title=f"{law_name}, {drift}, bound for whole keys {whole:.3f}, {seeds} seeds",
            )
            for name in PLANNERS:
                maker = planner(name, lanes=20)
                for what, hosts in (("even", None), ("hosts", maker.hosts)):
                    if what == "hosts" and not maker.hosts:
                        continue
                    found = [
                        run(maker, made, exact, hosts)
                        for made, exact in zip(streams, counts, strict=True)
                    ]
                    level, first, later, took = np.mean(found, axis=0)
                    table.add_row(
                        name, what, f"{level:.3f}", f"{first:.3f}", f"{later:.4f}", f"{took:.3f}"
                    )
            console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs and seeds")
    quick = parser.parse_args().quick
    console = Console(width=110)
    print(heading("Planners", SEED))
    aims(console, runs=3 if quick else 9)
    growth(console, runs=1 if quick else 3)
    routing(console, runs=3 if quick else 9)
    repartitioners(console, seeds=1 if quick else 5)


if __name__ == "__main__":
    main()
