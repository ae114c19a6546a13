"""State per key: against Spark's operator and its RocksDB store, by size, and when plans change.

    python benchmarks/keyed_state.py --small             # small sizes, some minutes; the default
    python benchmarks/keyed_state.py --full              # the sizes that the aims are for
    python benchmarks/keyed_state.py --only waits,uniform,sizes,moves,many

One file is one micro-batch. Where the two are compared, the function is the same, and so is what
comes out. A function that waits sleeps one millisecond per row, so that 16 tasks overlap on
however many cores. The first batches of a query, in which Python processes start and kernels are
compiled, do not count.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

import trimtab.spark as tt
from machine import heading
from memory import Meter
from spark_runs import Results, options, session
from trimtab import Plan
from trimtab.metrics import max_over_mean

SEED = 7
LANES = 16
START = 1_700_000_000
"""When the first file was changed, in seconds: Spark takes files by age."""
OUTPUT, STATE = "word long, n long", "n long"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
NOW = {"availableNow": True}


@dataclass(frozen=True)
class Sizes:
    wait_rows: int
    batches: int
    active: int
    states: tuple[int, ...]
    moved: int
    turns: int
    many: int


SMALL = Sizes(4_000, 4, 2_000, (10_000, 200_000), 100_000, 2, 40)
FULL = Sizes(96_000, 5, 5_000, (10_000, 1_000_000, 10_000_000), 1_000_000, 4, 300)


def write(place: Path, number: int, keys: NDArray[Any]) -> None:
    """Write the file of one batch."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{number:05d}.parquet"
    table = pa.table({"word": pa.array(keys, pa.int64())})
    # Several row groups, so that a file gives every core something to read.
    pq.write_table(table, path, row_group_size=max(1, keys.size // 8))
    os.utime(path, (START + number, START + number))


def read(spark: SparkSession, place: Path) -> DataFrame:
    source = spark.readStream.schema("word long").option("maxFilesPerTrigger", 1)
    return source.parquet(str(place))


def counted(key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: Any) -> Iterator[Any]:
    total = (state.get[0] if state.exists else 0) + sum(map(len, rows))
    state.update((total,))
    yield pd.DataFrame({"word": key, "n": [total]})


def waited(key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: Any) -> Iterator[Any]:
    new = sum(map(len, rows))
    time.sleep(0.001 * new)
    total = (state.get[0] if state.exists else 0) + new
    state.update((total,))
    yield pd.DataFrame({"word": key, "n": [total]})


def vectors(keys: pa.Table, rows: pa.Table, states: pa.Table) -> tuple[pa.Table, pa.Table]:
    counts = np.bincount(rows["row_of_key"].to_numpy(), minlength=keys.num_rows)
    n = pc.add(states["n"].fill_null(0), pa.array(counts))
    return keys.append_column("n", n), pa.table({"n": n})


def batch_seconds(query: Any) -> list[float]:
    """Wait for the query's end; give the time of each batch that had rows."""
    query.awaitTermination()
    return [
        progress["durationMs"]["triggerExecution"] / 1000
        for progress in query.recentProgress
        if progress["numInputRows"]
    ]


def native(
    spark: SparkSession, place: Path, root: Path, function: Callable[..., Any]
) -> list[float]:
    made = read(spark, place).groupBy("word")
    frame = made.applyInPandasWithState(function, OUTPUT, STATE, "append", "NoTimeout")
    query = frame.writeStream.format("parquet").option("checkpointLocation", str(root / "ck"))
    return batch_seconds(query.trigger(**NOW).start(str(root / "out")))


def ours(
    spark: SparkSession,
    place: Path,
    root: Path,
    function: Callable[..., Any],
    method: str = "apply_with_state",
    lanes: int = LANES,
    **options: Any,
) -> list[float]:
    origin = tt.stream(read(spark, place), "word", lanes, checkpoint=str(root / "ck"), **options)
    started = getattr(origin, method)(function, OUTPUT, STATE)
    return batch_seconds(started.start(str(root / "out"), trigger=NOW))


def same(spark: SparkSession, *roots: Path) -> bool:
    found = [
        spark.read.parquet(str(root / "out")).selectExpr("count(1)", "sum(n)", "max(n)").first()
        for root in roots
    ]
    return len(set(map(str, found))) == 1


LAWS = {
    "12 keys have 70 % of the rows, 988 the rest": np.r_[
        np.full(12, 0.7 / 12), np.full(988, 0.3 / 988)
    ],
    "(rank + 10)^-1.2, 2,000 keys": (np.arange(2_000) + 10.0) ** -1.2,
}
"""Many heavy keys, none of them too heavy for a lane: by hash, some lanes have several."""


def waits(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """Skewed keys, and a function that waits."""
    for name, law in LAWS.items():
        rng, root = np.random.default_rng(SEED), scratch / str(law.size)
        shares = law / law.sum()
        for number in range(sizes.batches):
            write(root / "in", number, rng.choice(law.size, sizes.wait_rows, p=shares))
        hashed = f"pmod(hash(id), {LANES}) AS lane"
        rows = spark.range(law.size).selectExpr(hashed).toPandas()["lane"].to_numpy()
        by_hash = max_over_mean(np.bincount(rows, shares, LANES))
        level = 0.001 * sizes.wait_rows / LANES
        compare(
            *(spark, results, root, waited),
            title=f"1 ms per row, {sizes.wait_rows:,} rows: {name}",
            aim=f"aim: a third of Spark's; level waits {level:.2f} s, hashing {by_hash:.2f} times",
        )


def uniform(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """Every batch has other keys, a few rows each, and a function that costs nothing."""
    rng = np.random.default_rng(SEED)
    for number in range(sizes.batches):
        active = rng.choice(50_000, sizes.active, replace=False)
        write(scratch / "in", number, rng.permutation(np.repeat(active, 4)))
    compare(
        *(spark, results, scratch, counted),
        title=f"uniform, {sizes.active:,} active keys, 4 rows each, a cheap function",
        aim="aim: no more than Spark's",
    )


def compare(
    spark: SparkSession,
    results: Results,
    scratch: Path,
    function: Callable[..., Any],
    title: str,
    aim: str,
) -> None:
    seconds = {
        "Spark, RocksDB": native(spark, scratch / "in", scratch / "native", function)[2:],
        "Trimtab": ours(spark, scratch / "in", scratch / "trimtab", function)[2:],
    }
    assert same(spark, scratch / "native", scratch / "trimtab"), "the two differ"
    found = {name: median(took) for name, took in seconds.items()}
    results.add(title, found, "Spark, RocksDB", aim)


def fill(spark: SparkSession, root: Path, keys: int) -> None:
    """Give every key a state, in one batch of vectors."""
    write(root / "in", 0, np.arange(keys))
    ours(spark, root / "in", root, vectors, "apply_in_arrow_with_state", partitioner="hash")


def by_size(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """The same active keys, whatever else has a state."""
    rng = np.random.default_rng(SEED)
    found = {}
    for keys in sizes.states:
        root = scratch / str(keys)
        fill(spark, root, keys)
        for number in range(1, sizes.batches + 1):
            write(root / "in", number, rng.choice(keys, sizes.active, replace=False))
        took = ours(
            *(spark, root / "in", root, vectors, "apply_in_arrow_with_state"), partitioner="hash"
        )
        found[f"{keys:,} keys"] = median(took[2:])
        shutil.rmtree(root)
    first = f"{sizes.states[0]:,} keys"
    results.add(f"state of many keys, {sizes.active:,} active", found, first, "aim: at most 1.5")


def moves(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """One host in twenty goes to another lane, and all its keys with it.

    A plan that is given changes at a start only, and the first batch of a start is slower by
    itself. So what a change takes is the difference of two first batches, with it and without, and
    is set against a usual batch.
    """
    rng = np.random.default_rng(SEED)
    hosts = np.arange(20 * LANES) % LANES
    moved = hosts.copy()
    moved[::20] = (moved[::20] + 1) % LANES
    plans = [Plan(LANES, hosts=hosts), Plan(LANES, hosts=moved)]
    root, number = scratch / "moves", 1
    fill(spark, root, sizes.moved)
    usual, changed, unchanged, keys = [], [], [], []
    # Every plan is given twice in a row: the first start changes it, the second does not. The
    # very first leaves plain hashing, and moves nearly all.
    for turn in range(2 * sizes.turns + 1):
        for kept in range(3):
            write(root / "in", number + kept, rng.choice(sizes.moved, sizes.active, replace=False))
        number += 3
        took = ours(
            *(spark, root / "in", root, vectors, "apply_in_arrow_with_state"),
            partitioner=plans[(turn + 1) // 2 % 2],
        )
        if turn == 0:
            continue
        usual.extend(took[1:])
        if turn % 2:
            changed.append(took[0])
            keys.append(tt.events(str(root / "ck"))[-3]["state"]["moved_keys"])
        else:
            unchanged.append(took[0])
    share = median(keys) / sizes.moved
    more = median(changed) - median(unchanged)
    results.add(
        f"a change that moves {share:.1%} of {sizes.moved:,} keys, {sizes.active:,} active",
        {
            "a usual batch": median(usual),
            "with what the change adds": median(usual) + more,
            "first batch of a start, without": median(unchanged),
            "first batch of a start, with": median(changed),
        },
        "a usual batch",
        "aim: at most 1.3",
    )


def many(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """Many batches: time, files and memory stay as they are."""
    rng = np.random.default_rng(SEED)
    root, batches = scratch / "many", sizes.many
    for number in range(batches):
        write(root / "in", number, rng.integers(0, 100_000, 2_000))
    with Meter(spark) as meter:
        took = ours(spark, root / "in", root, vectors, "apply_in_arrow_with_state", lanes=4)
    lines = tt.events(str(root / "ck"))
    third = len(took) // 3
    files = [line["state"]["files"] / 4 for line in lines]
    results.add(
        f"{batches} batches of 2,000 rows, 100,000 keys, 4 lanes: seconds per batch",
        {"second third": median(took[third : 2 * third]), "last third": median(took[2 * third :])},
        "second third",
    )
    halves = {"second third": slice(third, 2 * third), "last third": slice(2 * third, None)}
    results.add(
        "files per lane",
        {name: float(np.mean(files[part])) for name, part in halves.items()},
        "second third",
        unit="files",
    )
    for name in ("driver's Python", "Java heap in use", "Python workers"):
        results.add(f"memory: {name}", meter.thirds(name), "second third", unit="MB")


PARTS = {
    "waits": waits,
    "uniform": uniform,
    "sizes": by_size,
    "moves": moves,
    "many": many,
}


def main() -> None:
    given = options(__doc__, PARTS)
    print(heading("State per key", SEED))
    results = Results("keyed_state", SEED)
    spark = session(
        LANES,
        spark__sql__shuffle__partitions=str(LANES),
        spark__sql__streaming__stateStore__providerClass=ROCKSDB,
        spark__sql__streaming__numRecentProgressUpdates="1000",
    )
    for name in given.parts:
        scratch = Path(tempfile.mkdtemp(prefix="keyed-state-"))
        try:
            PARTS[name](spark, FULL if given.full else SMALL, results, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    results.keep(given.out)


if __name__ == "__main__":
    main()
