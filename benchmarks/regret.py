"""What it costs to have Trimtab where it cannot help: a grid of operators, keys and task slots.

    python benchmarks/regret.py                      # the complete grid: some 22 minutes
    python benchmarks/regret.py --small              # a part of it, smaller: five minutes
    python benchmarks/regret.py --only join,write --slots 16
    python benchmarks/regret.py --keys uniform --add # a piece more of a grid that was begun

A cell's regret is the time of Trimtab as it comes, nothing named, over that of the best of plain
Spark: as it comes (AQE, 200 partitions), and with 16, 48 and 200 partitions that AQE leaves alone.
Alternatives take turns, and an operator's first turn does not count. A cell in which Trimtab is
clearly ahead after a turn has no other one; where it is close or behind there are more, and each
time is the least of them. A plain setting that is far behind another one is not tried again; one
that took twice as long (with `--small` 1.5 times) not with other keys either. Every alternative
must give the same result: the count and two sums of hashes of its rows, which are part of the timed
work; of a write, those of the files. What Trimtab has decided stands beside each cell.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import trimtab.spark as tt
from machine import heading
from regret_table import SETTINGS, Cell, draw, geometric_mean, keep, kept, markdown, shown
from spark_runs import session
from trimtab.workloads import zipf_ids

SEED = 7
PARTITIONS = 16
"""Input partitions of every frame."""
KEYS = 5_000
SCHEMA = "key bigint, n bigint"
GROWN = 20
"""Rows of the hottest key on the right side of a join that has it hot on both sides."""
DIRECTORIES = 60
"""Most directories of a partitioned write: the keys from there on share the last one."""
CLEAR = 0.8
"""Regret after a turn at which there is no other one."""
ENOUGH = 1.0
"""Seconds of Trimtab from which on, as after two turns, it is enough to be ahead at all."""
FAR_BEHIND = 1.3
"""How many times as long as the best plain setting another one takes that is not tried again."""


@dataclass(frozen=True)
class Sizes:
    """Rows of the frames, and what is tried.

    Attributes
    ----------
    rows, cheap, cheap_of_many, waiting
        Rows for work that computes, for cheap functions, for those of very many keys, and for
        functions that wait.
    lost
        How many times as long as the best plain setting another one takes that has lost: it is not
        tried with other keys, on as many slots.
    """

    rows: int
    cheap: int
    cheap_of_many: int
    waiting: int
    lost: float


FULL = Sizes(2_000_000, 200_000, 10_000, 8_000, lost=2.0)
SMALL = Sizes(500_000, 4_000, 2_000, 2_000, lost=1.5)
TURNS = 4
SMALL_KEYS = ("uniform", "zipf 1.2", "1,000,000 keys")


def uniform(rows: int, keys: int) -> NDArray[np.int64]:
    return np.random.default_rng(SEED).integers(0, keys, rows)


def one_hot(rows: int) -> NDArray[np.int64]:
    ids = uniform(rows, KEYS)
    ids[np.random.default_rng(SEED + 1).random(rows) < 0.3] = 0
    return ids


DISTRIBUTIONS: dict[str, Callable[[int], NDArray[Any]]] = {
    "uniform": lambda rows: uniform(rows, KEYS),
    "zipf 0.8": lambda rows: zipf_ids(rows, KEYS, 0.8, SEED),
    "zipf 1.2": lambda rows: zipf_ids(rows, KEYS, 1.2, SEED),
    "zipf 1.5": lambda rows: zipf_ids(rows, KEYS, 1.5, SEED),
    "one key 30 %": one_hot,
    "200 keys": lambda rows: uniform(rows, 200),
    "1,000,000 keys": lambda rows: uniform(rows, 1_000_000),
}


def counted(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"key": [group["key"].iloc[0]], "n": [len(group)]})


def waited(group: pd.DataFrame) -> pd.DataFrame:
    time.sleep(0.001 * len(group))
    return pd.DataFrame({"key": [group["key"].iloc[0]], "n": [len(group)]})


def fingerprint(df: DataFrame) -> tuple[Any, ...]:
    """Run a frame and return its number of rows and two sums over hashes of them."""
    columns = [
        F.sort_array(name) if kind.startswith("array") else F.col(name) for name, kind in df.dtypes
    ]
    hashed = df.select(F.xxhash64(*columns).alias("h"))
    low, high = F.sum(F.expr("h & 4294967295L")), F.sum(F.expr("shiftrightunsigned(h, 32)"))
    return tuple(hashed.agg(F.count("h"), low, high).first() or ())


@dataclass(frozen=True)
class Job:
    """One operator, by plain Spark and by Trimtab: each gives its fingerprint.

    Attributes
    ----------
    plain, trimtab
        Run it.
    decided
        Say what Trimtab decides; not timed.
    """

    plain: Callable[[], object]
    trimtab: Callable[[], object]
    decided: Callable[[], str]


Made = Callable[[DataFrame, Path], Job]


def aggregate(column: Callable[[], Any]) -> Made:
    def made(df: DataFrame, scratch: Path) -> Job:
        return Job(
            lambda: fingerprint(df.groupBy("key").agg(column().alias("a"))),
            lambda: fingerprint(tt.group_by(df, "key").agg(column().alias("a"))),
            lambda: tt.group_by(df, "key").explain(column()),
        )

    return made


def function(func: Callable[..., Any]) -> Made:
    def made(df: DataFrame, scratch: Path) -> Job:
        return Job(
            lambda: fingerprint(df.groupBy("key").applyInPandas(func, SCHEMA)),
            lambda: fingerprint(tt.group_by(df, "key").applyInPandas(func, SCHEMA)),
            lambda: tt.group_by(df, "key").explain(func, SCHEMA),
        )

    return made


def joined(hot_on_both: bool) -> Made:
    def made(df: DataFrame, scratch: Path) -> Job:
        set_as(df.sparkSession, *SETTINGS["16"])
        names = df.groupBy("key").agg(F.count("x").alias("y"))
        if hot_on_both:
            hottest = names.orderBy(F.desc("y")).first()
            assert hottest is not None
            more = df.sparkSession.range(GROWN - 1).selectExpr(f"{hottest.key}L AS key", "id AS y")
            names = names.union(more)
        right = names.repartition(PARTITIONS).cache()
        right.count()
        set_as(df.sparkSession, *SETTINGS["AQE"])
        return Job(
            lambda: fingerprint(df.join(right, "key")),
            lambda: fingerprint(tt.join(df, right, "key")),
            lambda: tt.explain_join(df, right, "key"),
        )

    return made


def written(df: DataFrame, scratch: Path) -> Job:
    land = df.withColumn("land", F.least("key", F.lit(DIRECTORIES - 1)).cast("int"))
    path = str(scratch / "written")

    def plainly() -> object:
        land.repartition("land").write.partitionBy("land").parquet(path, mode="overwrite")
        return fingerprint(df.sparkSession.read.parquet(path))

    route: list[tt.Route] = []

    def ours() -> object:
        route[:] = [tt.write_balanced(land, path, "land", mode="overwrite")]
        return fingerprint(df.sparkSession.read.parquet(path))

    def decided() -> str:
        return route[0].explain("write", shuffles=1)

    return Job(plainly, ours, decided)


COMPUTES, CHEAP, WAITS = "computes", "cheap", "waits"
OPERATORS: dict[str, tuple[str, Made]] = {
    "sum": (COMPUTES, aggregate(lambda: F.sum("x"))),
    "countDistinct": (COMPUTES, aggregate(lambda: F.countDistinct("z"))),
    "collect_list": (COMPUTES, aggregate(lambda: F.collect_list("x"))),
    "percentile": (COMPUTES, aggregate(lambda: F.percentile("z", F.lit(0.5)))),
    "cheap": (CHEAP, function(counted)),
    "waits": (WAITS, function(waited)),
    "join": (COMPUTES, joined(hot_on_both=False)),
    "hotjoin": (COMPUTES, joined(hot_on_both=True)),
    "write": (COMPUTES, written),
}


@contextmanager
def frame(spark: SparkSession, ids: NDArray[Any]) -> Iterator[tuple[DataFrame, Path]]:
    """Give a cached frame of these keys, and a folder that is there as long as it is."""
    # From a file: rows that Spark has from Python are part of its plan, and every look at the plan
    # goes through all of them.
    folder = Path(tempfile.mkdtemp(prefix="regret-"))
    path = str(folder / "rows.parquet")
    places = np.arange(ids.size)
    table = {"key": ids.astype(np.int64), "x": places, "z": places * 7919 % 10007}
    pq.write_table(pa.table(table), path)
    kept = spark.read.parquet(path).repartition(PARTITIONS).cache()
    kept.count()
    try:
        yield kept, folder
    finally:
        spark.catalog.clearCache()
        shutil.rmtree(folder)


def set_as(spark: SparkSession, partitions: int, coalesce: bool) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", str(coalesce).lower())


def measured(
    spark: SparkSession, job: Job, loses: float, warm_up: bool, lost: set[str]
) -> dict[str, float]:
    """Return the least time of each alternative that was tried; all must give the same result.

    The settings that are `lost` are not tried; those that took `loses` times as long as the best
    one are added to them.
    """

    def plainly(setting: tuple[int, bool]) -> object:
        set_as(spark, *setting)
        try:
            return job.plain()
        finally:
            set_as(spark, *SETTINGS["AQE"])

    # Trimtab first: whoever comes later finds the code compiled.
    calls: dict[str, Callable[[], object]] = {"Trimtab": job.trimtab}
    calls |= {
        name: partial(plainly, setting) for name, setting in SETTINGS.items() if name not in lost
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    results = set()
    if warm_up:
        results.update((calls["16"](), calls["Trimtab"]()))
    for turn in range(TURNS):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            if name in SETTINGS and hopeless(name, times):
                continue
            start = time.perf_counter()
            results.add(calls[name]())
            times[name].append(time.perf_counter() - start)
        ours = min(times["Trimtab"])
        regret = ours / min(min(took) for name, took in times.items() if took and name in SETTINGS)
        if regret <= (CLEAR if turn == 0 and ours < ENOUGH else 1.0):
            break
    if len(results) != 1:
        raise AssertionError(f"the alternatives give different results: {results}")
    found = {name: min(values) for name, values in times.items() if values}
    best = min(seconds for name, seconds in found.items() if name in SETTINGS)
    # With few partitions everything begins: 16 are always tried.
    lost |= {name for name in found if name in SETTINGS and found[name] > loses * best} - {"16"}
    if "48" in lost:
        lost.add("200")
    return found


def hopeless(name: str, times: dict[str, list[float]]) -> bool:
    """Tell whether a plain setting need not be tried (again): it, or a smaller one, is far behind.

    Where 48 partitions take longer than 16, then 200 that AQE leaves alone take longer still: up to
    half a minute.
    """
    least = {tried: min(took) for tried, took in times.items() if took and tried in SETTINGS}
    best = min(least.values(), default=0.0)
    if name == "200" and least.get("48", 0.0) > least.get("16", np.inf):
        return True
    return least.get(name, 0.0) > FAR_BEHIND * best


def rows_of(kind: str, keys: str, sizes: Sizes) -> int:
    if kind == WAITS:
        return sizes.waiting
    if kind == CHEAP:
        return sizes.cheap_of_many if keys == "1,000,000 keys" else sizes.cheap
    return sizes.rows


def grid(asked: argparse.Namespace, sizes: Sizes, keys: list[str]) -> Iterator[Cell]:
    for slots in asked.slots:
        # Both sides of the joins stand for large ones.
        spark = session(slots, spark__sql__autoBroadcastJoinThreshold="-1")
        lost: dict[str, set[str]] = {}
        for key in keys:
            for kind in (COMPUTES, CHEAP, WAITS):
                names = [name for name in asked.only if OPERATORS[name][0] == kind]
                if not names:
                    continue
                ids = DISTRIBUTIONS[key](rows_of(kind, key, sizes))
                with frame(spark, ids) as (df, scratch):
                    for name in names:
                        job = OPERATORS[name][1](df, scratch)
                        cold = name not in lost
                        behind = lost.setdefault(name, set())
                        seconds = measured(spark, job, sizes.lost, cold, behind)
                        yield Cell(name, key, slots, seconds, job.decided().partition("\n")[0])
        spark.stop()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def listed(known: dict[str, Any], between: str = ",") -> Callable[[str], list[str]]:
        def read(text: str) -> list[str]:
            unknown = [name for name in text.split(between) if name not in known]
            if unknown:
                raise argparse.ArgumentTypeError(f"{unknown[0]!r}; known: {', '.join(known)}")
            return text.split(between)

        return read

    parser.add_argument("--small", action="store_true", help="smaller, and fewer keys")
    parser.add_argument("--only", type=listed(OPERATORS), default=list(OPERATORS))
    parser.add_argument("--keys", type=listed(DISTRIBUTIONS, ";"), help="laws, with ; between them")
    parser.add_argument("--add", action="store_true", help="to the cells that are kept in --out")
    parser.add_argument("--slots", type=int, nargs="+", default=[2, 16])
    parser.add_argument("--out", type=Path, default=Path("results"))
    return parser.parse_args()


def main() -> None:
    asked = options()
    print(heading("Regret: Trimtab as it comes over the best of plain Spark", SEED), flush=True)
    keys = asked.keys or list(SMALL_KEYS if asked.small else DISTRIBUTIONS)
    cells = kept(asked.out) if asked.add else []
    began = time.perf_counter()
    for cell in grid(asked, SMALL if asked.small else FULL, keys):
        cells = [*(one for one in cells if one.place != cell.place), cell]
        print(f"{time.perf_counter() - began:5.0f} s  {shown(cell)}", flush=True)
        # As soon as it is known: a run may be ended early.
        keep(cells, asked.out, SEED)
    worst = max(cells, key=lambda cell: cell.regret)
    print(markdown(cells))
    print(f"{len(cells)} cells; this run took {time.perf_counter() - began:.0f} s")
    print(
        f"geometric mean {geometric_mean(cells):.3f} (aim: at most 0.9), worst {worst.regret:.2f} "
        f"(aim: at most 1.15): {worst.operator}, {worst.keys}, {worst.slots} slots"
    )
    draw(cells, asked.out / "regret.png")


if __name__ == "__main__":
    main()
