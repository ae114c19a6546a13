"""Routers over one whole run, as the authors' programs count, beside windows of 100,000 tuples.

64 lanes, 2,000,000 tuples, 100,000 keys. Loads and key sets are never ended by a window. Each cell
is the mean of five seeds; the least and the greatest are those of the whole run.

    python benchmarks/whole_run.py [--seeds 5] [--only trim ...]
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from trimtab import hash_keys, router
from trimtab.metrics import max_over_mean, replication
from trimtab.workloads import zipf_ids

LANES, TUPLES, KEYS, WINDOWS = 64, 2_000_000, 100_000, 20
ROUTERS = {
    "CM": ("cm", {}),
    "LM": ("lm", {}),
    "DAGreedy": ("dagreedy", {}),
    "Dalton": ("dalton", {}),
    "Dalton, heat 1": ("dalton", {"heat": 1.0}),
    "W-Choices, heat 2": ("w-choices", {"heat": 2.0}),
    "D-Choices": ("d-choices", {}),
    "FISH's idea": ("fish", {}),
    "FlexSP's idea": ("flexsp", {}),
    "trim": ("trim", {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(ROUTERS), choices=list(ROUTERS))
    options = parser.parse_args()
    seeds = options.seeds
    table = Table(
        "router", "Zipf", "max/mean - 1", "least", "greatest", "per window", "replication"
    )
    for z in (1.0, 1.5, 2.0):
        for label in options.only:
            name, parameters = ROUTERS[label]
            whole, windows, copies = [], [], []
            for seed in range(1, seeds + 1):
                keys = hash_keys(zipf_ids(TUPLES, KEYS, z, seed=seed))
                made = router(name, lanes=LANES, seed=seed, **parameters)
                lanes = made.route(keys)
                whole.append(max_over_mean(made.loads()) - 1)
                parts = np.split(lanes, WINDOWS)[1:]
                loads = [np.bincount(part, minlength=LANES) for part in parts]
                windows.append(np.mean([max_over_mean(load) for load in loads]) - 1)
                copies.append(replication(keys, lanes))
            figures = np.mean(whole), min(whole), max(whole), np.mean(windows), np.mean(copies)
            table.add_row(label, f"{z:g}", *(f"{figure:.3f}" for figure in figures))
    Console().print(table)


if __name__ == "__main__":
    main()
