"""State per key: against Spark's operator and its RocksDB store, by size, and when plans change.

    python benchmarks/keyed_state.py --small             # small sizes, some minutes; the default
    python benchmarks/keyed_state.py --full              # the sizes that the aims are for
    python benchmarks/keyed_state.py --only waits,larger,laws,uniform,sizes,moves,many

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
from dataclasses import dataclass, replace
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
from laws_of_keys import NAMINGS, TAIL, Law, lanes_by_hash
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


CHOSEN = ("median", "nine tenths")
"""The namings that are run: the one in the middle if they are sorted by how lopsided Spark's hash
makes them, and the one that nine tenths are at most as lopsided as."""


def waits(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """As many hot keys as lanes, and a function that waits: what hashing loses can be won."""
    for which in CHOSEN:
        law_waits(spark, sizes, results, scratch / which, Law(16, 0.9), which)


def larger(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """Wait for twice the rows in a batch: what it costs besides the waiting counts half."""
    doubled = replace(sizes, wait_rows=2 * sizes.wait_rows)
    law_waits(spark, doubled, results, scratch, Law(16, 0.9), CHOSEN[-1])


def law_waits(
    spark: SparkSession, sizes: Sizes, results: Results, root: Path, law: Law, which: str
) -> None:
    """Run a law at one naming, and say what could be won at all of them."""
    found, level = law.by_hash(spark, LANES), law.level(LANES)
    rising = np.argsort(found, kind="stable")
    at = {"first": 0, "median": rising[NAMINGS // 2], "nine tenths": rising[NAMINGS * 9 // 10]}
    naming = int(at[which])
    tenths = " / ".join(f"{value:.2f}" for value in np.quantile(found, (0.1, 0.5, 0.9)))
    results.console.print(
        f"{law}: over {NAMINGS:,} namings of the keys Spark's hash has max/mean {found.mean():.2f} "
        f"on average ({tenths} at a tenth, half and nine tenths of them); whole keys can be at "
        f"{level:.2f}. If nothing but waiting took time, three times as fast could be had at "
        f"{(found >= 3 * level).mean():.0%} of them. Run at naming {naming} ({which}): "
        f"max/mean {found[naming]:.2f}."
    )
    rng = np.random.default_rng(SEED)
    write_waits(root, sizes, naming * law.keys, law.shares, rng)
    compare(
        *(spark, results, root, waited),
        title=f"1 ms per row, {sizes.wait_rows:,} rows: {law}, naming {naming} ({which})",
        aim="aim: a third of Spark's",
        computed=waiting_alone(sizes, float(found[naming]), level),
    )
    report_lanes(results, root / "trimtab" / "ck")


def write_waits(
    root: Path,
    sizes: Sizes,
    first: int,
    shares: NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """Write batches of keys from `first` on; the first two do not count, the second is short."""
    for batch in range(sizes.batches):
        rows = sizes.wait_rows // (4 if batch == 1 else 1)
        write(root / "in", batch, first + rng.choice(shares.size, rows, p=shares))


def waiting_alone(sizes: Sizes, by_hash: float, level: float) -> dict[str, float]:
    """Return what a batch would take if nothing but waiting took time."""
    one = 0.001 * sizes.wait_rows / LANES
    return {
        "waiting alone by Spark's hash, computed": one * by_hash,
        "waiting alone on level lanes, computed": one * level,
    }


def report_lanes(results: Results, checkpoint: Path) -> None:
    """Say where the seconds of the batches that count went, beside the waiting."""
    for line in tt.events(str(checkpoint))[2:]:
        seconds, state = line["seconds"], line["state"]
        spent = np.array(state["function_seconds"])
        results.console.print(
            f"  batch {line['batch']}: max/mean of rows {line['max_over_mean']:.3f}, of function "
            f"seconds {max_over_mean(spent):.3f}; fullest lane {max(state['lane_seconds']):.2f} s "
            f"of {seconds['total']:.2f} s; keys moved {state['moved_keys']}; {seconds['steps']}"
        )


def laws(spark: SparkSession, sizes: Sizes, results: Results, scratch: Path) -> None:
    """The same function by laws at which less can be won."""
    law_waits(spark, sizes, results, scratch / "hot", Law(12, 0.7), "first")
    shares, root = TAIL / TAIL.sum(), scratch / "tail"
    write_waits(root, sizes, 0, shares, np.random.default_rng(SEED))
    lanes = lanes_by_hash(spark, TAIL.size, LANES)
    by_hash = max_over_mean(np.bincount(lanes, shares, LANES))
    compare(
        *(spark, results, root, waited),
        title=f"1 ms per row, {sizes.wait_rows:,} rows: (rank + 10)^-1.2, {TAIL.size:,} keys",
        aim=f"Spark's hash has max/mean {by_hash:.2f}: no more than that can be won",
        computed=waiting_alone(sizes, by_hash, 1.0),
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
    computed: dict[str, float] | None = None,
) -> None:
    seconds = {
        "Spark, RocksDB": native(spark, scratch / "in", scratch / "native", function)[2:],
        "Trimtab": ours(spark, scratch / "in", scratch / "trimtab", function)[2:],
    }
    assert same(spark, scratch / "native", scratch / "trimtab"), "the two differ"
    found = {name: median(took) for name, took in seconds.items()}
    results.add(title, {**found, **(computed or {})}, "Spark, RocksDB", aim)


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
    "larger": larger,
    "laws": laws,
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
