"""Frames that every batch operator must take, and ways to compare results."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trimtab.spark.spark_text import physical_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12, 0, 0)

KEYS: dict[str, list[Any]] = {
    "string": ["hot"] * 60 + ["a", "b", "", "ä", None, None],
    "boolean": [True] * 50 + [False, None],
    "tinyint": [1] * 50 + [-1, None, 7],
    "int": [7] * 50 + [-1, None, 2**31 - 1],
    "bigint": [7] * 50 + [-1, None, 2**63 - 1],
    "float": [1.5] * 50 + [0.0, -0.0, math.nan, None],
    "double": [1.5] * 50 + [0.0, -0.0, math.nan, None],
    "date": [DAY] * 50 + [dt.date(1969, 12, 31), None],
    "timestamp": [NOON] * 50 + [dt.datetime(1969, 12, 31, 23, 0, 0), None],
    "decimal(10,2)": [decimal.Decimal("1.50")] * 50 + [decimal.Decimal("-0.01"), None],
    "binary": [b"hot"] * 50 + [b"", b"\x00", None],
    "struct<a:int,b:string>": [(1, "x")] * 50 + [(1, "y"), None],
}
"""Skewed keys of every type a frame can be grouped by."""


def keyed(spark: SparkSession, key_type: str) -> DataFrame:
    """Return a frame of two columns: a skewed key of the type, and a number."""
    rows = [(key, i) for i, key in enumerate(KEYS[key_type])]
    return spark.createDataFrame(rows, f"k {key_type}, x bigint").repartition(3)


def skewed(spark: SparkSession, rows: int = 2000) -> DataFrame:
    """Return a frame with two hot keys, a null key and many light ones, in three partitions."""
    data = []
    for i in range(rows):
        key = "hot" if i % 2 else "warm" if i % 8 == 0 else f"k{i % 97}" if i % 31 else None
        data.append((key, i % 5, float(i % 13), i))
    return spark.createDataFrame(data, "user string, page int, price double, x bigint").repartition(
        3
    )


def clock_change(spark: SparkSession) -> DataFrame:
    """Return rows around the end of a summer in Berlin, with their hours by the session's clock.

    Where that is Berlin's, 40 rows are of an hour that the clock then shows once more, 80 of its
    repetition, 10 of the hour before, and 5 have no time.
    """
    first = int(dt.datetime(2024, 10, 27, 0, 5, tzinfo=dt.UTC).timestamp())
    seconds = [first + i for i in range(40)] + [first + 3600 + i for i in range(80)]
    seconds += [first - 3600 + i for i in range(10)]
    data = [(second, i % 3) for i, second in enumerate(seconds)] + [(None, 1)] * 5
    times = spark.createDataFrame(data, "second bigint, g int").repartition(3)
    return times.selectExpr(
        "g",
        "date_trunc('hour', timestamp_seconds(second)) AS hour",
        "timestamp_seconds(second div 7200 * 7200) AS other",
        "second AS x",
    )


@contextmanager
def session_setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Change a setting of the session for a while."""
    before = spark.conf.get(name, None)
    with warnings.catch_warnings():
        # Connect tells which settings are on their way out.
        warnings.filterwarnings("ignore", "The SQL config", UserWarning)
        spark.conf.set(name, value)
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The SQL config", UserWarning)
            if before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, before)


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else round(value, 9) + 0.0
    if isinstance(value, list):
        return tuple(sorted((_comparable(v) for v in value), key=repr))
    if isinstance(value, tuple):
        return tuple(_comparable(v) for v in value)
    return bytes(value) if isinstance(value, bytearray) else value


def rows(df: DataFrame) -> Counter[tuple[Any, ...]]:
    """Return the rows as a multiset; floats rounded, lists in no order."""
    return Counter(tuple(_comparable(value) for value in row) for row in df.collect())


def exchanges(df: DataFrame) -> list[str]:
    """Return the exchanges of the physical plan, the last first."""
    # A plan that has run is shown twice, as it was and as it began; so is a cached one inside it.
    plan = physical_plan(df).split("\n+- == Initial Plan ==")[0].splitlines()
    return [line.strip(" :+-") for line in plan if " Exchange " in line or "+- Exchange" in line]


def layouts(df: DataFrame) -> int:
    """Count the exchanges that are layouts of ours."""
    return sum("shufflepartitionidpassthrough" in line for line in exchanges(df))


def hashings(df: DataFrame) -> int:
    """Count the exchanges that hash keys."""
    return sum("hashpartitioning" in line for line in exchanges(df))
