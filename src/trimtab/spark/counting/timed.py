"""Learning what keys cost: seconds per key, measured inside the user's function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.spark.columns import spare_names
from trimtab.spark.groups.hidden_columns import drop
from trimtab.spark.groups.user_functions import PANDAS, named_after, takes_iterator, takes_key


@dataclass(frozen=True)
class Learned:
    """The result of a function over groups, and what it has taught about the keys.

    Attributes
    ----------
    result
        What the function gave, as without `learn`.
    measured
        The same rows with the key's hash and seconds beside them, kept in Spark's cache so that
        nothing is computed twice. Unpersist it when both have been used.
    """

    result: DataFrame
    measured: DataFrame
    hash_column: str
    seconds_column: str

    def __iter__(self) -> Iterator[Any]:
        """Allow `result, learned = grouped.applyInPandas(...)`."""
        return iter((self.result, self))

    def histogram(self, top: int = 4096) -> Histogram:
        """Return the keys by measured seconds, for `group_by(..., histogram=...)` next time.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user from range(100)")
        >>> grouped = tt.group_by(clicks, "user", lanes=4, learn=True)
        >>> result, learned = grouped.applyInPandas(lambda rows: rows.head(1), "user string")
        >>> seconds = learned.histogram()
        >>> seconds.unit, seconds.distinct, seconds.total > 0
        ('seconds', 41, True)
        >>> next_time = tt.group_by(clicks, "user", lanes=4, histogram=seconds)
        """
        keys = self.measured.where(F.col(self.seconds_column).isNotNull()).select(
            F.col(self.hash_column).alias("hash"), F.col(self.seconds_column).alias("weight")
        )
        whole = keys.agg(F.sum("weight").alias("total"), F.count("hash").alias("keys")).collect()[0]
        heaviest = keys.orderBy(F.desc("weight"), "hash").limit(top).collect()
        return Histogram.from_rows(
            heaviest, total=whole["total"] or 0.0, distinct=whole["keys"], unit="seconds"
        )


def timed(
    applied: Callable[..., DataFrame],
    func: Callable[..., Any],
    schema: T.StructType | str,
    method: str,
    hashed: str,
    hidden: list[str],
) -> Learned:
    """Apply `func` to every group and measure it.

    A group's first row of output carries its seconds; a group without output gives one row that
    carries nothing else, and that `result` leaves out.

    Parameters
    ----------
    applied
        Applies a function of a key and its rows, given with its schema, to every group.
    func, schema, method
        What the user gave, and the call that takes it.
    hashed
        The column that holds the key's hash.
    hidden
        Columns that `func` must not see, `hashed` among them.
    """
    if takes_iterator(func, method):
        raise InvalidArgument(
            "learn=True times functions of a whole group; this one takes an iterator"
        )
    kind = schema if isinstance(schema, T.StructType) else T.StructType.fromDDL(schema)
    names = spare_names(kind.fieldNames(), "hash", "seconds", "kept")
    extended = T.StructType(
        [
            *(T.StructField(f.name, f.dataType, True) for f in kind.fields),
            T.StructField(names[0], T.LongType()),
            T.StructField(names[1], T.DoubleType()),
            T.StructField(names[2], T.BooleanType()),
        ]
    )
    called = _called(func, hidden)
    measure = (
        _pandas(called, kind, hashed, names)
        if method == PANDAS
        else _arrow(called, to_arrow_schema(kind), hashed, names)
    )
    measured = applied(named_after(measure, func), extended).persist()
    result = measured.where(F.col(names[2])).drop(*names)
    return Learned(result, measured, names[0], names[1])


def _called(func: Callable[..., Any], hidden: list[str]) -> Callable[..., tuple[Any, float]]:
    with_key = takes_key(func)

    def call(key: tuple[Any, ...], rows: Any) -> tuple[Any, float]:
        shown = drop(rows, hidden)
        start = time.perf_counter()
        given = func(key, shown) if with_key else func(shown)
        return given, time.perf_counter() - start

    return call


def _pandas(
    called: Callable[..., Any], kind: T.StructType, hashed: str, names: list[str]
) -> Callable[..., pd.DataFrame]:
    columns = kind.fieldNames()

    def measure(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        key_hash = rows[hashed].iloc[0]
        given, seconds = called(key, rows)
        kept = len(given) > 0
        if not kept:
            given = pd.DataFrame({name: [None] for name in columns})
        elif not all(isinstance(name, str) for name in given.columns):
            # Columns without names are taken in order, as Spark takes them.
            given = given.set_axis(columns, axis=1)
        first = [seconds] + [None] * (len(given) - 1)
        extra = (key_hash, first, kept)
        return given.assign(**dict(zip(names, extra, strict=True)))

    return measure


def _arrow(
    called: Callable[..., Any], wanted: pa.Schema, hashed: str, names: list[str]
) -> Callable[..., pa.Table]:
    def measure(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        given, seconds = called(key, rows)
        kept = given.num_rows > 0
        if not kept:
            given = pa.table({field.name: pa.nulls(1, field.type) for field in wanted})
        count = given.num_rows
        extra = (
            pa.array([rows[hashed][0].as_py()] * count, pa.int64()),
            pa.array([seconds] + [None] * (count - 1), pa.float64()),
            pa.array([kept] * count, pa.bool_()),
        )
        for name, column in zip(names, extra, strict=True):
            given = given.append_column(name, column)
        return given

    return measure
