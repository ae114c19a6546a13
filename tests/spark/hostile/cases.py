"""Frames of hostile rows, made in Spark from a seed: large ones take no longer to make."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tests.spark.hostile.keys import KEYS, LONG_TEXT, NAMES, TIMES
from trimtab.spark.columns import quoted

if TYPE_CHECKING:
    from collections import Counter

    from pyspark.sql import Column, DataFrame, SparkSession

ZONES = ("UTC", "Europe/Berlin", "America/New_York")
"""Zones whose clocks differ by whole minutes since 1900: of others pandas shifts old times by
seconds, and Spark's own functions of groups with it."""

FIRST_YEARS = {"UTC": 1679}
OTHERWISE_FIRST_YEAR = 1902
"""The first year whose times pandas leaves as they are. It has none before 1678, and outside of UTC
it takes the sun's time for that of the clocks until 1901-12-13 20:45:52, where 32 bits of seconds
begin: Spark's own functions of groups shift such times by minutes one way, ours the other way."""

SHAPES = ("skewed", "no rows", "one row", "one key")

LONG_ROWS = 2
"""Rows with the key of a megabyte."""


@dataclass(frozen=True)
class Case:
    """A frame and its columns by what they are for; `line` says how to make it again."""

    line: str
    df: DataFrame
    rows: int
    keys: tuple[str, ...]
    number: str
    time: str
    zone: str
    kinds: tuple[str, ...] = field(default=())

    def key_columns(self) -> list[Column]:
        """Return the keys as Spark must be told of them."""
        return [F.col(quoted(name)) for name in self.keys]


def kinds_of(seed: int, number: int) -> tuple[str, ...]:
    """Return the types of the key columns: every type in turn, then with company."""
    types = list(KEYS)
    first = types[number % len(types)]
    rng = np.random.default_rng((seed, number, 1))
    if number < len(types) and rng.random() < 0.7:
        return (first,)
    return (first, types[rng.integers(len(types))])


def made(spark: SparkSession, seed: int, number: int, rows: int) -> Case:
    """Make a case; the same seed, number and rows give the same one."""
    rng = np.random.default_rng((seed, number))
    kinds = kinds_of(seed, number)
    shape = SHAPES[0] if rng.random() < 0.8 else SHAPES[rng.integers(1, len(SHAPES))]
    count = {"no rows": 0, "one row": 1}.get(shape, rows)
    zone = ZONES[rng.integers(len(ZONES))]
    # Spark's own functions of groups refuse dots and backticks in names, and pandas has few old
    # times and none after 2261: most cases have none, so that there is something to compare.
    earliest = FIRST_YEARS.get(zone, OTHERWISE_FIRST_YEAR)
    tame = rng.random() < 0.75
    known = [name for name in NAMES if not tame or not set(name) & set(".`")]
    moments = [time for time in TIMES if not tame or time is None or earliest <= time.year < 2262]
    names = [str(name) for name in rng.permutation(known)[: len(kinds) + 2]]
    *keys, value, time = names
    table = spark.range(count, numPartitions=3).withColumnRenamed("id", "n")
    drawn = []
    for place, kind in enumerate(kinds):
        pool = moments if kind.startswith("timestamp") else KEYS[kind]
        picked = 1 if shape == "one key" else len(pool)
        # Half of all rows have the first value; the others share the rest.
        spread = f"pmod(xxhash64(n, {int(rng.integers(1 << 30))}), {2 * picked})"
        table = table.withColumn(f"p{place}", F.expr(f"greatest({spread} - {picked}, 0)"))
        drawn.append(_pool(spark, pool, kind, f"p{place}", f"k{place}"))
    times = _pool(spark, moments, "timestamp", "pt", "t")
    table = table.withColumn("pt", F.expr(f"pmod(xxhash64(n, 5), {len(moments)})"))
    for part in (*drawn, times):
        (at,) = [name for name in part.columns if name.startswith("p")]
        table = table.join(F.broadcast(part), at)
    columns = [F.col(f"k{i}").alias(name) for i, name in enumerate(keys)]
    if kinds[0] == "string" and shape == "skewed":
        long = F.expr(f"if(n < {LONG_ROWS}, repeat('m', {len(LONG_TEXT)}), k0)")
        columns[0] = long.alias(keys[0])
    df = table.select(*columns, F.col("n").alias(value), F.col("t").alias(time))
    line = f"seed {seed}, case {number}, {rows} rows: {shape}, {kinds}, {names}, {zone}"
    return Case(line, df.cache(), count, tuple(keys), value, time, zone, kinds)


def _pool(spark: SparkSession, values: list[Any], kind: str, at: str, name: str) -> DataFrame:
    """Return the values of a type with their places, made on the driver."""
    schema = T.StructType(
        [
            T.StructField(at, T.LongType()),
            T.StructField(name, spark.createDataFrame([], f"v {kind}").schema[0].dataType),
        ]
    )
    rows = [(place, _in_utc(value, kind)) for place, value in enumerate(values)]
    return spark.createDataFrame(rows, schema)


def _in_utc(value: Any, kind: str) -> Any:
    """Say of a time that it is meant in UTC, where Spark would take this machine's clock."""
    if isinstance(value, dt.datetime) and "ntz" not in kind:
        return value.replace(tzinfo=dt.UTC)
    if isinstance(value, tuple):
        return tuple(_in_utc(part, kind) for part in value)
    return value


def texts(df: DataFrame) -> Counter[tuple[str | None, ...]]:
    """Return the rows as a multiset of texts that Spark made: Python cannot hold every time."""
    from collections import Counter

    shown = []
    for place, kind in enumerate(df.schema.fields):
        column = f"c{place}"
        text = f"hex({column})" if isinstance(kind.dataType, T.BinaryType) else column
        if isinstance(kind.dataType, T.TimestampType):
            # Two instants of an autumn look the same on a clock.
            text = f"unix_micros({column})"
        text = f"cast({text} AS string)"
        shown.append(f"if(octet_length({text}) > 200, sha2({text}, 256), {text}) AS {column}")
    plain = df.toDF(*(f"c{place}" for place in range(len(df.columns))))
    return Counter(tuple(row) for row in plain.selectExpr(*shown).collect())
