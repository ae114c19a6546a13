"""Consistent Grouping's Figures 13 and 14 on a real cluster: machines alike, then one of them slow.

    python benchmarks/grouping_on_machines.py              # at most ten minutes
    python benchmarks/grouping_on_machines.py --ways 'hash;pkg' --batches 20 --seconds 200

The paper's cluster has 8 sources and 24 workers; in its Figure 14 two executors run at 30 %. Here a
standalone cluster on loopback has three workers of four slots, and one runs at 30 %. Rows take 1 ms
each; keys follow Zipf's law with exponent 1, of which the hottest has 0.72 of a lane's rows (in the
paper's tweets it has 0.64 of a worker's).

Virtual workers are had in two ways. "handed over" is the paper's: 12 lanes with 10 virtual workers
each, which signals move from busy lanes to idle ones. "tasks" is Spark's: every virtual worker is a
task of its own, and whoever is free takes the next.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

import trimtab.spark as tt
from machines import CORES, SHARE, SLOTS, noop, on_frames, session, warm_up, watched

# The cluster is that of the tests, which are no package of an installation.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.spark.cluster import HOSTS, Cluster, running_cluster
from tests.spark.slowing import slowed

ROWS, KEYS = 12_000, 100_000
UNSETTLED = 2
"""Batches at the start that no figure counts: workers start, signals come to rest."""

LEAST = 2
"""Batches that are counted at least, however long they take."""

WAYS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "hash": ("hash", SLOTS, {}),
    "pkg": ("pkg", SLOTS, {}),
    "shuffle": ("shuffle", SLOTS, {}),
    "cg, 10 handed over": ("cg", SLOTS, {"virtual": 10}),
    **{f"cg, {tasks} tasks": ("cg", tasks * SLOTS, {"virtual": 1}) for tasks in (1, 5, 10, 20)},
}
"""Partitioner, lanes and parameters of each."""


def rows_of(spark: SparkSession) -> DataFrame:
    # The logarithm of a key is uniform: that is Zipf's law with exponent 1.
    uniform = "(xxhash64(value) & 9007199254740991) / 9007199254740992"
    return (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS)
        .option("numPartitions", SLOTS)
        .load()
        .selectExpr(f"cast(exp({uniform} * {math.log(KEYS)}) AS long) AS key", "value")
    )


def events_of(
    spark: SparkSession, way: str, place: Path, batches: int, seconds: float
) -> list[dict[str, Any]]:
    """Run so many batches, or for so long, and return what the event log says of them."""
    name, lanes, parameters = WAYS[way]
    stream = tt.stream(
        rows_of(spark),
        "key",
        lanes=lanes,
        checkpoint=str(place),
        partitioner=name,
        parameters=parameters,
    )

    def each(rows: DataFrame, batch: Any) -> None:
        noop(rows.mapInPandas(on_frames, rows.schema))

    started = time.monotonic()

    def done() -> int:
        found = len(tt.events(str(place)))
        late = found >= UNSETTLED + LEAST and time.monotonic() - started > seconds
        return batches if late else found

    watched(
        lambda: stream.for_each_batch(each).start(trigger={"processingTime": "0 seconds"}),
        done,
        batches,
        lambda number: None,
    )
    return tt.events(str(place))[:batches]


def figures_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the paper reports, of the batches in which things are settled."""
    settled = events[UNSETTLED:]
    took = [event["seconds"]["total"] for event in settled]
    busy = [sum(one for one in event["lane_seconds"] if one is not None) for event in settled]
    pairs = [event["replication"] * event["distinct_keys"] for event in settled]
    return {
        "batches": len(settled),
        "rows_per_second": round(ROWS * len(settled) / sum(took)),
        "p50": round(statistics.median(took), 2),
        "p99": round(float(np.quantile(took, 0.99)), 2),
        # Slots are what there is; a lane that a slow machine works on keeps its slot busy, too.
        "utilisation": round(sum(busy) / (SLOTS * sum(took)), 2),
        "max_over_mean": round(statistics.median(e["max_over_mean"] for e in settled), 2),
        "keys_per_lane": round(statistics.mean(pairs) / events[-1]["map_tasks"]),
        "lanes_per_key": round(statistics.mean(event["replication"] for event in settled), 2),
        "seconds": [round(event["seconds"]["total"], 2) for event in events],
        "virtual_workers": events[-1].get("delegation", {}).get("virtual_workers"),
    }


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--batches", type=int, default=10, help="batches of each run, at most")
    reader.add_argument(
        "--seconds", type=float, default=25.0, help="after which a run begins no other batch"
    )
    reader.add_argument("--ways", default=";".join(WAYS), help="which ways, with ; between them")
    reader.add_argument("--slow", default="none,one", help="none: machines alike; one: one slow")
    reader.add_argument("--out", help="file for the figures")
    given = reader.parse_args()
    found: list[dict[str, Any]] = []
    scratch = Path(tempfile.mkdtemp(prefix="grouping-"))
    try:
        with running_cluster(scratch, CORES) as cluster:
            spark = session(cluster, scratch)
            spark.sparkContext.setLogLevel("ERROR")
            warm_up(spark)
            events_of(spark, "hash", scratch / "warm-up", 6, given.seconds)
            for slow in given.slow.split(","):
                size = (given.batches, given.seconds)
                found += _runs(cluster, spark, scratch, slow, given.ways.split(";"), size)
            spark.stop()
        if given.out:
            Path(given.out).write_text(json.dumps(found, indent=1))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _runs(
    cluster: Cluster,
    spark: SparkSession,
    scratch: Path,
    slow: str,
    ways: list[str],
    size: tuple[int, float],
) -> list[dict[str, Any]]:
    found = []
    with ExitStack() as slowing:
        if slow == "one":
            slowing.enter_context(slowed(cluster.executor_at(HOSTS[2]), SHARE))
        for way in ways:
            place = scratch / f"{slow}-{way}".replace(" ", "-").replace(",", "")
            found.append({"slow": slow, "way": way})
            found[-1] |= figures_of(events_of(spark, way, place, *size))
            print(json.dumps(found[-1]), flush=True)
    return found


if __name__ == "__main__":
    main()
