"""The model's own time: tuples through sources, lanes, queues and reducers, 10 to 10,000 lanes.

The aim: 100,000,000 tuples over 1,000 lanes in minutes on one core, in memory that goes by keys
and lanes. Keys are drawn while the model runs, and drawing them is part of the time.

    python benchmarks/simulate.py [--tuples 100000000] [--lanes 1000] [--quick]
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from machine import heading
from trimtab import hash_keys, router
from trimtab.simulate import Cluster, Reducers, Service, stream
from trimtab.workloads.zipf import zipf_edges, zipf_ranks

SEED = 7
KEYS = 1_000_000
SLOT = 1_000_000


def slots(count: int) -> Iterator[NDArray[np.uint64]]:
    """Draw slots of a Zipf stream one by one."""
    random = np.random.default_rng(SEED)
    names, edges = hash_keys(np.arange(KEYS)), zipf_edges(KEYS, 1.0)
    for _ in range(count):
        yield names[zipf_ranks(random.random(SLOT), edges)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuples", type=int, default=5_000_000)
    parser.add_argument("--lanes", type=int, nargs="*", default=[10, 100, 1000, 10_000])
    parser.add_argument("--names", nargs="*", default=["hash", "shuffle", "pkg", "cg", "trim"])
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    count = 1 if options.quick else max(1, options.tuples // SLOT)
    console = Console()
    console.print(heading("The model's own time", SEED))
    table = Table("router", "lanes", "tuples", "seconds", "ns per tuple", "MB at most")
    for name in options.names:
        for lanes in options.lanes:
            cluster = Cluster(Service(0.8 * lanes / SLOT), reducers=Reducers(8))
            stream(router(name, lanes=lanes), slots(1), cluster)
            start = time.process_time()
            stream(router(name, lanes=lanes), slots(count), cluster)
            took = time.process_time() - start
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            table.add_row(
                name,
                f"{lanes:,}",
                f"{count * SLOT:,}",
                f"{took:.1f}",
                f"{took / (count * SLOT) * 1e9:.0f}",
                f"{most:,}",
            )
    console.print(table)


if __name__ == "__main__":
    main()
