"""Learning what keys cost: seconds per key, measured inside the user's function."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.histogram import Histogram
from trimtab.spark.columns import KeyColumns, spare_names


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

    def __iter__(self) -> Any:
        """Allow `result, learned = grouped.applyInPandas(...)`."""
        return iter((self.result, self))

    def histogram(self, top: int = 4096) -> Histogram:
        """Give the keys by measured seconds, for `group_by(..., histogram=...)` of the next run."""
        timed_rows = self.measured.where(F.col(self.seconds_column).isNotNull())
        keys = timed_rows.select(
            F.col(self.hash_column).alias("hash"), F.col(self.seconds_column).alias("weight")
        )
        whole = keys.agg(F.sum("weight").alias("total"), F.count("hash").alias("keys")).collect()[0]
        heaviest = keys.orderBy(F.desc("weight"), "hash").limit(top).collect()
        return Histogram.from_rows(
            heaviest, total=whole["total"] or 0.0, distinct=whole["keys"], unit="seconds"
        )


def timed(
    grouped: GroupedData,
    func: Callable[..., Any],
    schema: T.StructType | str,
    method: str,
    key: KeyColumns,
    session: SparkSession,
) -> Learned:
    """Apply `func` to every group and measure it.

    A group's first row of output carries its seconds; a group without output gives one row that
    carries nothing else, and that `result` leaves out.
    """
    kind = schema if isinstance(schema, T.StructType) else _parsed(schema, session)
    hashed, seconds, kept = spare_names(kind.fieldNames(), "hash", "seconds", "kept")
    extended = T.StructType(
        [
            *(T.StructField(f.name, f.dataType, True) for f in kind.fields),
            T.StructField(hashed, T.LongType()),
            T.StructField(seconds, T.DoubleType()),
            T.StructField(kept, T.BooleanType()),
        ]
    )
    names = (hashed, seconds, kept)
    measure = _measured_pandas if method == "applyInPandas" else _measured_arrow
    types = _key_types(key)
    measured = getattr(grouped, method)(measure(func, kind, types, names), extended).persist()
    result = measured.where(F.col(kept)).drop(*names)
    return Learned(result, measured, hashed, seconds)


def _parsed(schema: str, session: SparkSession) -> T.StructType:
    parsed: T.StructType = session.createDataFrame([], schema).schema
    return parsed


def _key_types(key: KeyColumns) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    fields = [T.StructField(f"k{i}", f.dataType, True) for i, f in enumerate(key.fields)]
    return to_arrow_schema(T.StructType(fields))


def _hash(key: tuple[Any, ...], types: pa.Schema) -> int:
    """Give the key's hash as Spark has it, a signed long."""
    import numpy as np

    from trimtab.keys import hash_keys

    columns = []
    for value, field in zip(key, types, strict=True):
        plain = value.as_py() if isinstance(value, pa.Scalar) else value
        plain = None if plain is pd.NaT else plain
        columns.append(pa.array([plain], type=field.type, from_pandas=False))
    return int(hash_keys(*columns).view(np.int64)[0])


def _called(func: Callable[..., Any], key: tuple[Any, ...], rows: Any) -> Any:
    import inspect

    with_key = len(inspect.signature(func).parameters) == 2
    return func(key, rows) if with_key else func(rows)


def _measured_pandas(
    func: Callable[..., Any], kind: T.StructType, types: pa.Schema, names: tuple[str, str, str]
) -> Callable[..., pd.DataFrame]:
    hashed, seconds, kept = names

    def measure(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        start = time.perf_counter()
        given = _called(func, key, rows)
        taken = time.perf_counter() - start
        if len(given) == 0:
            given = pd.DataFrame({name: [None] for name in kind.fieldNames()})
            return given.assign(**{hashed: _hash(key[1:], types), seconds: taken, kept: False})
        if list(given.columns) != kind.fieldNames() and not set(given.columns) >= set(
            kind.fieldNames()
        ):
            given.columns = kind.fieldNames()
        first = [taken] + [None] * (len(given) - 1)
        return given[kind.fieldNames()].assign(
            **{hashed: _hash(key[1:], types), seconds: first, kept: True}
        )

    return measure


def _measured_arrow(
    func: Callable[..., Any], kind: T.StructType, types: pa.Schema, names: tuple[str, str, str]
) -> Callable[..., pa.Table]:
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = to_arrow_schema(kind)

    def measure(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        start = time.perf_counter()
        given = _called(func, key, rows)
        taken = time.perf_counter() - start
        kept = given.num_rows > 0
        if not kept:
            given = pa.table({field.name: pa.nulls(1, field.type) for field in wanted})
        count = given.num_rows
        first = pa.array([taken] + [None] * (count - 1), pa.float64())
        extra = (
            pa.array([_hash(key[1:], types)] * count, pa.int64()),
            first,
            pa.array([kept] * count, pa.bool_()),
        )
        for name, column in zip(names, extra, strict=True):
            given = given.append_column(name, column)
        return given

    return measure
