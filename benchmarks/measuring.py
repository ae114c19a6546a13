"""What it costs to measure the lanes: the aim is 1 % of a batch.

    python benchmarks/measuring.py                 # some two minutes
    python benchmarks/measuring.py --batches 12

On the cluster of `machines.py`, machines alike. Two runs of the same batches differ by more than
1 %, and so what measuring adds is timed by itself: on the driver, of every batch, all that reads,
learns from, logs and chooses by the times of lanes; in a task, the notes that it takes, as the same
pass with and without them, in this process; in Spark, the observation that collects the notes, as
the same rows with and without it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from machines import CONTESTS, CORES, ROWS, SLOTS, noop, one_run, session, warm_up
from trimtab.control.lane_speeds import LaneSpeeds
from trimtab.control.machines import Machines
from trimtab.spark.counting.lane_clock import LaneClock
from trimtab.spark.groups import one_pass
from trimtab.spark.stream import runner, steering

# The cluster is that of the tests, which are no package of an installation.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.spark.cluster import running_cluster

MEASURED: tuple[tuple[Any, str], ...] = (
    (runner, "times_of"),
    (runner, "event_of_lanes"),
    (steering, "choose_lanes"),
    (Machines, "after"),
    (LaneSpeeds, "after"),
)
"""All that the driver does with the times of lanes."""

MANY_ROWS = 20_000_000


class Timed:
    """Adds up what calls of some functions take, while it stands in for them."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}

    def put_in(self) -> None:
        """Stand in for everything that is measured."""
        for place, name in MEASURED:
            setattr(place, name, self._timing(getattr(place, name), f"{place.__name__}.{name}"))

    def _timing(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                took = time.perf_counter() - started
                self.seconds.setdefault(name.rpartition("trimtab.")[2], []).append(took)

        return timed


def of_driver(batches: int) -> None:
    """Print what the driver spends on measuring in each batch, and how long batches take."""
    timed = Timed()
    timed.put_in()
    scratch = Path(tempfile.mkdtemp(prefix="measuring-"))
    try:
        with running_cluster(scratch, CORES) as cluster:
            spark = session(cluster, scratch)
            spark.sparkContext.setLogLevel("ERROR")
            warm_up(spark)
            for kind in ("for_each_batch", "apply"):
                timed.seconds.clear()
                place = scratch / kind
                place.mkdir()
                run = CONTESTS[kind]["auto"]
                took = one_run(cluster, spark, run, place, batches, False)["seconds"]
                # The first batches load what later ones have.
                each = {name: statistics.median(found[2:]) for name, found in timed.seconds.items()}
                all_of_it, batch = sum(each.values()), statistics.median(took[2:])
                found = {name: round(1e3 * seconds, 2) for name, seconds in each.items()}
                print(
                    json.dumps(
                        {
                            "kind": kind,
                            "batch_seconds": round(batch, 2),
                            "driver_milliseconds": found,
                            "share": round(all_of_it / batch, 5),
                        }
                    ),
                    flush=True,
                )
            of_spark(spark)
            spark.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def of_spark(spark: SparkSession) -> None:
    """Print what the observation that collects notes takes of Spark, per row."""
    frame = spark.range(0, MANY_ROWS, 1, SLOTS).selectExpr(
        "id", "IF(id % 1000000 = 0, cast(id AS string), NULL) AS note"
    )
    plain, watched = [], []
    for _ in range(4):
        started = time.perf_counter()
        noop(frame.drop("note"))
        middle = time.perf_counter()
        noop(LaneClock().on(frame, "note"))
        plain.append(middle - started)
        watched.append(time.perf_counter() - middle)
    extra = (min(watched) - min(plain)) / MANY_ROWS
    print(json.dumps({"observation_nanoseconds_per_row": round(1e9 * extra, 1)}), flush=True)


def of_task() -> None:
    """Print what the notes of a lane take in its task."""
    lane = pd.DataFrame({"key": range(83), "value": range(83)})
    lane = lane.loc[lane.index.repeat(ROWS // SLOTS // 83)].reset_index(drop=True)
    schema = T.StructType().add("key", T.LongType()).add("value", T.LongType())
    cut = one_pass._Cut(("key",), (), {}, {})
    plain = one_pass._mapped(lambda rows: rows.head(1), cut, schema, True)
    noted = one_pass._with_note(plain, schema.names, "note")

    def seconds(run: Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]) -> float:
        started = time.perf_counter()
        for _ in run(iter([lane])):
            pass
        return time.perf_counter() - started

    for run in (plain, noted):
        seconds(run)
    pairs = [(seconds(plain), seconds(noted)) for _ in range(200)]
    extra = statistics.median(two for _, two in pairs) - statistics.median(one for one, _ in pairs)
    print(json.dumps({"notes_milliseconds_per_lane": round(1e3 * extra, 3)}), flush=True)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--batches", type=int, default=8, help="batches of each run")
    given = reader.parse_args()
    of_task()
    of_driver(given.batches)


if __name__ == "__main__":
    main()
