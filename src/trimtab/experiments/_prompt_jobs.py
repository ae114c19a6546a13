"""What the Prompt experiments share: who cuts batches, costs of stages, searched rates, times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trimtab import Histogram, planner, router
from trimtab.experiments.base import Setting
from trimtab.planners import Planner
from trimtab.routers import Router
from trimtab.simulate import Batches, Job, StageCosts, highest_rate, micro_batches
from trimtab.sketches.count_tree import CountTree, sorted_counts
from trimtab.sketches.exact import ExactCounts
from trimtab.workloads.rates import instants, sinusoidal_rate

COSTS = StageCosts(map_row=1e-4, map_key=1e-4, reduce_row=5e-5, reduce_fragment=1e-4)
"""Slow enough that a batch of some ten thousand rows fills an interval of seconds."""

TASKS = 16
SWING = 0.5
RIVALS = ("time", "shuffle", "hash", "pk-2", "pk-5", "cam", "prompt")


def blocks(name: str, seed: int) -> Callable[[int], Router | Planner]:
    """Return who cuts a batch into blocks; cAM gets five candidates, its best number here."""
    if name == "prompt":
        return lambda n: planner("prompt", lanes=n)
    if name.startswith("pk-"):
        return lambda n: router("pkg", lanes=n, choices=int(name[3:]), seed=seed)
    if name == "cam":
        return lambda n: router("cam", lanes=n, choices=5, seed=seed)
    if name == "time":
        return lambda n: router("time", lanes=n, interval=1 << 20)
    return lambda n: router(name, lanes=n)


def buckets(name: str) -> str:
    return "prompt" if name == "prompt" else "hash"


def costs(setting: Setting, combined: bool) -> StageCosts:
    """Return costs at which some 30,000 rows, at scale one, fill an interval of three seconds.

    With a map-side combine, which Spark's `reduceByKey` has, a key's values do not travel: each
    block sends one partial result per key.
    """
    unit = 4e-4 / setting.scale
    return StageCosts(unit, unit, 0.0 if combined else unit / 2, unit)


def _at_rate(
    name: str, rate: float, pool: NDArray[np.uint64], job: Job, seed: int, swing: float
) -> Batches:
    """Run some batches at a rate that swings, from one batch to the next and inside each."""
    rows = sinusoidal_rate(8, rate * job.interval, swing, period=8)
    if swing == 0.0:
        rows = rows[:2]
    batches = []
    for number, count in enumerate(rows):
        # The pool is a ring: a batch begins where the one before ended.
        start = int(rows[:number].sum()) % pool.size
        keys = np.take(pool, np.arange(start, start + int(count)), mode="wrap")
        batches.append((keys, instants(keys.size, swing, number * np.pi / 4)))
    return micro_batches(blocks(name, seed), batches, replace(job, buckets=buckets(name)))


def sustained(name: str, pool: NDArray[np.uint64], job: Job, seed: int, swing: float) -> float:
    """Return the highest rate at which every batch is done within its interval."""

    def keeps_up(rate: float) -> bool:
        return _at_rate(name, rate, pool, job, seed, swing).keeps_up

    return highest_rate(keeps_up, 0.1 * TASKS / job.costs.map_row, within=0.03)


def overheads(keys: NDArray[np.uint64]) -> tuple[float, float, float, float, float]:
    """Return the seconds of heartbeat, sort, plan, and of buffering with and without order."""
    tree, plain = CountTree(keys.size, max(1, keys.size // 10)), ExactCounts()
    start = time.process_time()
    tree.update(keys)
    buffered = time.process_time()
    tree.heartbeat()
    ordered = time.process_time()
    plain.update(keys)
    counted = time.process_time()
    names, weights = sorted_counts(plain)
    done = time.process_time()
    histogram = Histogram(names, weights, float(keys.size), names.size)
    begin = time.process_time()
    planner("prompt", lanes=64).plan(histogram, exact=True)
    planned = time.process_time() - begin
    return ordered - buffered, done - counted, planned, buffered - start, counted - ordered
