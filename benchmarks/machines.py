"""Machines that differ: streams and groups on a real cluster, one executor slowed down.

    python benchmarks/machines.py                          # some 15 minutes
    python benchmarks/machines.py --only apply,group_by --out figures.json

A standalone cluster on loopback has three workers of four slots. Each batch has 18,000 rows that
take 1 ms each, so that slots, not processors, are what is short. One executor is slowed to 30 % by
stopping and continuing its processes in turn; after half of the batches, another one is.

What is compared: plain Spark with as many partitions as slots, Trimtab with one lane per slot, and
Trimtab with `lanes="auto"`. The bound is what the sum of speeds allows: plain Spark's time among
equal machines, times 12 / (8 + 4 x 0.3).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession

import trimtab.spark as tt

# The cluster is that of the tests, which are no package of an installation.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.spark.cluster import HOSTS, Cluster, running_cluster
from tests.spark.slowing import slowed

ROWS, SLOTS, CORES, SHARE = 18_000, 12, 4, 0.3
KEYS = 997
ROW_SECONDS = 0.001


def work(rows: int) -> None:
    """Take a millisecond for each row: one wait each, or a stopped process would sleep on."""
    for _ in range(rows):
        time.sleep(ROW_SECONDS)


def on_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        work(len(frame))
        yield frame.head(1)


def on_group(rows: pd.DataFrame) -> pd.DataFrame:
    work(len(rows))
    return rows.head(1)


def with_state(key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any) -> Any:
    count = state.get[0] if state.exists else 0
    for frame in frames:
        work(len(frame))
        count += len(frame)
    state.update((count,))
    yield pd.DataFrame({"key": [key[0]], "rows": [count]})


def session(cluster: Cluster, scratch: Path) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master(cluster.url)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", str(CORES))
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
        .config("spark.sql.shuffle.partitions", str(SLOTS))
        .config("spark.local.dir", str(scratch / "driver"))
        .config("spark.shuffle.io.maxRetries", "1")
        .config("spark.shuffle.io.retryWait", "1s")
        .getOrCreate()
    )


def rows_of(spark: SparkSession) -> DataFrame:
    return (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS)
        .option("numPartitions", SLOTS)
        .load()
        .selectExpr(f"value % {KEYS} AS key", "value")
    )


def noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


Between = Callable[[int], None]
"""Is called before each batch with its number."""


def watched(start: Callable[[], Any], count: Callable[[], int], batches: int, at: Between) -> None:
    """Run a query until it has done so many batches."""
    query = start()
    told = -1
    try:
        while count() < batches:
            if count() > told:
                told = count()
                at(told)
            if query.exception() is not None:
                raise RuntimeError(str(query.exception()))
            time.sleep(0.02)
    finally:
        query.stop()


def plain_stream(spark: SparkSession, scratch: Path, batches: int, at: Between) -> list[float]:
    took: list[float] = []

    def each(rows: DataFrame, number: int) -> None:
        started = time.perf_counter()
        moved = rows.repartition(SLOTS, "key")
        noop(moved.mapInPandas(on_frames, moved.schema))
        took.append(time.perf_counter() - started)

    writer = rows_of(spark).writeStream.foreachBatch(each)
    writer = writer.option("checkpointLocation", str(scratch / "plain"))
    watched(writer.start, lambda: len(took), batches, at)
    return took[:batches]


def stream_of(kind: str, lanes: int | str) -> Callable[..., list[float]]:
    def run(spark: SparkSession, scratch: Path, batches: int, at: Between) -> list[float]:
        place = str(scratch / f"{kind}-{lanes}")
        stream = tt.stream(rows_of(spark), "key", lanes=lanes, checkpoint=place)

        def each(rows: DataFrame, batch: Any) -> None:
            noop(rows.mapInPandas(on_frames, rows.schema))

        if kind == "for_each_batch":
            startable, options = stream.for_each_batch(each), {}
        elif kind == "apply":
            startable, options = stream.apply(on_group, "key long, value long"), {"function": sink}
        else:
            startable = stream.apply_with_state(with_state, "key long, rows long", "rows long")
            options = {"function": sink, "output_mode": "update"}
        trigger = {"processingTime": "0 seconds"}
        watched(
            lambda: startable.start(trigger=trigger, **options),
            lambda: len(tt.events(place)),
            batches,
            at,
        )
        events = tt.events(place)[:batches]
        (scratch / f"{kind}-{lanes}.json").write_text(json.dumps(events))
        return [event["seconds"]["total"] for event in events]

    return run


def sink(rows: DataFrame, batch: Any) -> None:
    noop(rows)


def groups_of(ours: bool) -> Callable[..., list[float]]:
    def run(spark: SparkSession, scratch: Path, batches: int, at: Between) -> list[float]:
        frame = spark.range(0, ROWS, 1, SLOTS).selectExpr(f"id % {KEYS} AS key", "id AS value")
        took = []
        for number in range(batches):
            at(number)
            started = time.perf_counter()
            # Laid out first, or adaptive execution puts so few bytes into a single partition.
            plain = frame.repartition(SLOTS, "key").groupBy("key")
            grouped = tt.group_by(frame, "key") if ours else plain
            noop(grouped.applyInPandas(on_group, frame.schema))
            took.append(time.perf_counter() - started)
        return took

    return run


CONTESTS: dict[str, dict[str, Callable[..., list[float]]]] = {
    "for_each_batch": {
        "plain Spark": plain_stream,
        "one lane per slot": stream_of("for_each_batch", SLOTS),
        "auto": stream_of("for_each_batch", "auto"),
    },
    "apply": {"one lane per slot": stream_of("apply", SLOTS), "auto": stream_of("apply", "auto")},
    "group_by": {"plain Spark": groups_of(False), "auto": groups_of(True)},
    "state": {"one lane per slot": stream_of("state", SLOTS), "auto": stream_of("state", "auto")},
}


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--batches", type=int, default=8, help="batches of each run")
    reader.add_argument("--only", default=",".join(CONTESTS), help="which contests, by name")
    reader.add_argument("--ways", default="", help="which of their ways, by name; by default all")
    reader.add_argument("--slow", default="none,one", help="none: machines alike; one: one slow")
    reader.add_argument("--out", help="file for the figures")
    reader.add_argument("--events", help="folder for the event logs of the runs")
    given = reader.parse_args()
    figures: list[dict[str, Any]] = []
    scratch = Path(tempfile.mkdtemp(prefix="machines-"))
    try:
        with running_cluster(scratch, CORES) as cluster:
            spark = session(cluster, scratch)
            spark.sparkContext.setLogLevel("ERROR")
            warm_up(spark)
            for name in given.only.split(","):
                for slow in given.slow.split(","):
                    for way, run in CONTESTS[name].items():
                        if given.ways and way not in given.ways.split(","):
                            continue
                        place = scratch / f"{name}-{way}-{slow}".replace(" ", "-")
                        place.mkdir()
                        figure = one_run(cluster, spark, run, place, given.batches, slow == "one")
                        figures.append({"contest": name, "way": way, "slow": slow, **figure})
                        print(json.dumps(figures[-1]), flush=True)
                        if given.events:
                            for log in place.glob("*.json"):
                                kept = Path(given.events) / f"{place.name}.json"
                                kept.parent.mkdir(parents=True, exist_ok=True)
                                shutil.copy(log, kept)
            spark.stop()
        if given.out:
            Path(given.out).write_text(json.dumps(figures, indent=1))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def warm_up(spark: SparkSession) -> None:
    """Start the Python workers of all slots, and wait for all executors."""
    deadline = time.monotonic() + 60
    while spark.sparkContext.defaultParallelism < SLOTS and time.monotonic() < deadline:
        time.sleep(0.2)
    frame = spark.range(0, SLOTS * 50, 1, SLOTS)
    for _ in range(2):
        noop(frame.mapInPandas(on_frames, frame.schema))


def one_run(
    cluster: Cluster,
    spark: SparkSession,
    run: Callable[..., list[float]],
    place: Path,
    batches: int,
    one_is_slow: bool,
) -> dict[str, Any]:
    """Run so many batches; of the second half another executor is the slow one."""
    with ExitStack() as slowing:

        def at(number: int) -> None:
            if one_is_slow and number in (0, batches // 2):
                slowing.close()
                host = HOSTS[2] if number == 0 else HOSTS[0]
                slowing.enter_context(slowed(cluster.executor_at(host), SHARE))

        took = run(spark, place, batches, at)
    half = batches // 2
    settled = [*took[3:half], *took[half + 3 :]] or took[-1:]
    found = {
        "seconds": [round(one, 2) for one in took],
        "settled": round(statistics.median(settled), 2),
    }
    log = next(iter(place.glob("*.json")), None)
    if log is not None:
        events = json.loads(log.read_text())
        found["lanes"] = [event["map_tasks"] for event in events]
        found["why"] = events[-1]["scaling"]
        found["moved"] = [event["moved"] for event in events]
        found["kept_executor"] = round(kept_executor(events), 2)
        found["stragglers"] = [
            event["stragglers"][0]["cause"] if event.get("stragglers") else "" for event in events
        ]
    return found


def kept_executor(events: list[dict[str, Any]]) -> float:
    """Return the share of lanes that ran where they had run in the batch before."""
    names = [
        [
            None if place is None else event["executors"][place]["executor"]
            for place in event.get("lane_executors", [])
        ]
        for event in events
    ]
    pairs = [
        one == other
        for before, after in itertools.pairwise(names)
        if len(before) == len(after)
        for one, other in zip(before, after, strict=True)
    ]
    return sum(pairs) / len(pairs) if pairs else float("nan")


if __name__ == "__main__":
    main()
