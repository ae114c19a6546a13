"""A pilot: what a row of a user's function costs, measured on a few small groups in a task."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T

from trimtab.spark.groups.hidden_columns import drop
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.one_pass import apply_per_group, in_one_pass
from trimtab.spark.groups.user_functions import PANDAS, takes_iterator, takes_key
from trimtab.spark.session_facts import is_connect

PILOT_ROWS = 96
"""Rows of the frame that are taken for the pilot: few, since a row may hold a picture."""

PILOT_SECONDS = 0.05
"""After so many seconds inside the function the groups that are left are not tried."""

_TIMES = "rows long, wall double, cpu double"


@dataclass(frozen=True)
class FunctionCost:
    """Seconds that a function of a group takes for each of its rows.

    Attributes
    ----------
    waits
        Seconds in which it does not compute: it sleeps, or waits for a service.
    computes
        Seconds of a processor.
    """

    waits: float
    computes: float

    def seconds(self, rows: float, slots: int, cores: int) -> float:
        """Return how long level lanes take for so many rows: who waits needs no processor."""
        return rows * (self.waits / slots + self.computes / cores)


def pilot(keyed: KeyedFrame, method: str, func: Callable[..., Any]) -> FunctionCost | None:
    """Return what a row of a function costs; None if that can not be told.

    The first `PILOT_ROWS` rows of the frame are grouped, and the function is called with some of
    these groups, in a task, until `PILOT_SECONDS` have passed. The groups are not whole and what
    it gives is thrown away. If it fails on them nothing is known, and nothing is said: the job
    itself will tell.

    Parameters
    ----------
    keyed
        The frame with its key. The first rows of it must be quick to have.
    method, func
        Spark's name of the call, and the user's function.
    """
    if takes_iterator(func, method):
        return None
    rows = keyed.df.limit(PILOT_ROWS).collect()
    if not rows:
        return None
    few = _in_one_partition(keyed.df.sparkSession, rows, keyed.df.schema)
    measure = _measured(func, method, list(keyed.added))
    try:
        if in_one_pass(few.schema, keyed.names, measure, method):
            found = apply_per_group(few, keyed.names, [], measure, _TIMES).collect()
        else:
            found = getattr(few.groupBy(*keyed.grouping), method)(measure, _TIMES).collect()
    except PySparkException:
        return None
    if not found:
        return None
    counts, wall, cpu = (np.array([row[i] for row in found], dtype=np.float64) for i in range(3))
    computes = _per_row(counts, cpu)
    return FunctionCost(max(_per_row(counts, wall) - computes, 0.0), computes)


def _in_one_partition(session: SparkSession, rows: list[Row], schema: T.StructType) -> DataFrame:
    """Return rows as a frame of one partition: the pilot is one task.

    On Classic rows go through Python once for each partition that they are first given, and by
    itself Spark gives them one for each slot: on 16 of them a second is gone.
    """
    if is_connect(session):
        return session.createDataFrame(rows, schema).coalesce(1)
    return session.createDataFrame(session.sparkContext.parallelize(rows, 1), schema)


def _per_row(rows: NDArray[np.float64], seconds: NDArray[np.float64]) -> float:
    """Return what a row takes, rather too little: the lower quartile of slopes between two groups.

    What every call costs by itself is not a row's: groups of one size do not tell the two apart.
    One call that was held up would turn a line of least squares, and a function of a millisecond
    per row was taken for a cheap one; of the slopes between all pairs it spoils a few.
    """
    one, other = np.triu_indices(rows.size, 1)
    more = rows[other] - rows[one]
    apart = more != 0.0
    if rows.size < 3 or not apart.any():
        return 0.0
    slopes = (seconds[other] - seconds[one])[apart] / more[apart]
    return float(max(np.quantile(slopes, 0.25), 0.0))


def _measured(func: Callable[..., Any], method: str, hidden: list[str]) -> Callable[..., Any]:
    """Return a function of a key and its rows that gives the seconds `func` takes for them."""
    with_key = takes_key(func)
    as_frame = _pandas if method == PANDAS else _arrow
    nothing = as_frame([], [], [])
    used, called = 0.0, 0

    def measure(key: tuple[Any, ...], rows: Any) -> Any:
        nonlocal used, called
        if used < PILOT_SECONDS:
            shown = drop(rows, hidden)
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                _ = func(key, shown) if with_key else func(shown)
            except Exception:  # a failed task would be tried again, and fill the log
                used = PILOT_SECONDS
                return nothing
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            called += 1
            # The first call also loads and compiles what the function needs.
            if called > 1:
                used += wall
                return as_frame([len(rows)], [wall], [cpu])
        return nothing

    return measure


def _pandas(rows: list[int], wall: list[float], cpu: list[float]) -> pd.DataFrame:
    frame = pd.DataFrame({"rows": rows, "wall": wall, "cpu": cpu})
    return frame.astype({"rows": "int64", "wall": "float64", "cpu": "float64"})


def _arrow(rows: list[int], wall: list[float], cpu: list[float]) -> pa.Table:
    seconds = (pa.array(values, pa.float64()) for values in (wall, cpu))
    return pa.table([pa.array(rows, pa.int64()), *seconds], names=["rows", "wall", "cpu"])
