"""The controllers' own time: an advisor's answer, a repartitioner's decision, a trimmed change.

The advisor predicts every planner and router for a histogram of up to 100,000 keys; its aim is an
answer for 64 lanes in under 20 ms. Times are CPU times on one core, the median and the best of a
few calls, compilation excluded. Then each partitioner's prediction stands beside what the real
stream gives.

    python benchmarks/control.py [--lanes 64] [--quick]
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
from trimtab import Histogram, Plan, hash_keys, planner
from trimtab.control import Advisor, AutoScaler, Operator, Repartitioner
from trimtab.control.cost_model import Placement, makespan
from trimtab.control.migration import trimmed
from trimtab.partitioners import make
from trimtab.planners import Planner
from trimtab.workloads import zipf_ids

SEED = 7
TUPLES = 2_000_000
KEYS = 100_000
OPERATOR = Operator(split_keys=True)


def timed(call: Callable[[], object], runs: int) -> tuple[float, float]:
    """Return median and best CPU time of a call in milliseconds, after one call to warm up."""
    call()
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append((time.process_time() - start) * 1e3)
    return median(times), min(times)


def stream(z: float) -> NDArray[np.uint64]:
    return hash_keys(zipf_ids(TUPLES, KEYS, z, seed=SEED))


def decision_times(console: Console, lanes: int, runs: int) -> None:
    table = Table("what", "Zipf", "known keys", "median ms", "best ms", title=f"{lanes} lanes")
    for z in (0.5, 1.0, 1.5):
        hashes = stream(z)
        full = Histogram.from_hashes(hashes, hosts=64 * lanes)
        advisor = Advisor(OPERATOR, lanes)
        row(
            "advisor, all partitioners",
            z,
            full,
            timed(lambda a=advisor, h=full: a.advise(h), runs),
            table,
        )
        for histogram in (full.top(8 * lanes), full):
            running = planner("trim", lanes=lanes).plan(histogram)
            candidate = planner("kip", lanes=lanes).plan(histogram)
            judge = Repartitioner()
            for _ in range(judge.memory):
                judge.decide(running, candidate, histogram)
            took = timed(
                lambda j=judge, r=running, c=candidate, h=histogram: j.decide(r, c, h), runs
            )
            row("repartitioner, decision", z, histogram, took, table)
            took = timed(lambda c=candidate, h=histogram: trimmed(Plan(lanes), c, h, 0.02), runs)
            row("change trimmed to a budget", z, histogram, took, table)
    scaler = AutoScaler(8, 8)
    took = timed(lambda: scaler.observe(0.85, 1.0, 1e6, 1e5), runs)
    table.add_row("autoscaler, one batch", "", "", f"{took[0]:.4f}", f"{took[1]:.4f}")
    console.print(table)


def row(what: str, z: float, histogram: Histogram, took: tuple[float, float], table: Table) -> None:
    table.add_row(what, f"{z:g}", f"{len(histogram):,}", f"{took[0]:.2f}", f"{took[1]:.2f}")


def predictions(console: Console, lanes: int) -> None:
    for z in (0.5, 1.0, 1.5):
        hashes = stream(z)
        # From the first half, for the second, as in use.
        advice = Advisor(OPERATOR, lanes).advise(Histogram.from_hashes(hashes[: TUPLES // 2]))
        table = Table(
            "partitioner",
            "predicted s",
            "real s",
            "error",
            "max/mean predicted",
            "real",
            "replication predicted",
            "real",
            title=f"Zipf {z:g}, {lanes} lanes; recommended: {advice.recommended}",
        )
        for found in advice.table:
            placement = real_placement(found.name, hashes, lanes)
            seconds = makespan(placement, OPERATOR).seconds
            table.add_row(
                found.name,
                f"{found.makespan:.4f}",
                f"{seconds:.4f}",
                f"{found.makespan / seconds - 1:+.1%}",
                f"{found.max_over_mean:.3f}",
                f"{placement.loads.max() / placement.loads.mean():.3f}",
                f"{found.replication:.3f}",
                f"{placement.replication:.3f}",
            )
        console.print(table)


def real_placement(name: str, hashes: NDArray[np.uint64], lanes: int) -> Placement:
    """Route the stream, its second half being what is measured."""
    half = hashes.size // 2
    made = make(name, lanes, interval=half)
    if isinstance(made, Planner):
        counted = Histogram.from_hashes(hashes[:half], hosts=made.hosts or lanes)
        return Placement.measured(hashes[half:], made.plan(counted).route(hashes[half:]), lanes)
    made.route(hashes[:half])
    made.advance()
    return Placement.measured(hashes[half:], made.route(hashes[half:]), lanes)


def main() -> None:
    parser = argparse.ArgumentParser(description="The controllers' own time.")
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--quick", action="store_true", help="times only, few runs")
    options = parser.parse_args()
    console = Console(width=140)
    console.print(heading("Controllers", SEED))
    decision_times(console, options.lanes, 5 if options.quick else 20)
    if not options.quick:
        predictions(console, options.lanes)


if __name__ == "__main__":
    main()
