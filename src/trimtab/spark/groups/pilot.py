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
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

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
    measure = _measured(func, method, list(keyed.added))
    try:
        few = _first_rows(keyed.df)
        if in_one_pass(few.sparkSession, few.schema, keyed.names, measure, method):
            found = apply_per_group(few, keyed.names, [], measure, _TIMES).collect()
        else:
            found = getattr(few.groupBy(*keyed.grouping), method)(measure, _TIMES).collect()
    except (PySparkException, Py4JError):
        return None
    if not found:
        return None
    counts, wall, cpu = (np.array([row[i] for row in found], dtype=np.float64) for i in range(3))
    computes = _per_row(counts, cpu)
    return FunctionCost(max(_per_row(counts, wall) - computes, 0.0), computes)


def _first_rows(df: DataFrame) -> DataFrame:
    """Return the first rows as a frame of one partition that computes nothing: one task.

    On Classic they stay in Java. Rows that come from Python go through Python once more, and a
    limit below a function is a limit of every partition, with a shuffle after it.
    """
    session = df.sparkSession
    if is_connect(session):
        return session.createDataFrame(df.limit(PILOT_ROWS).collect(), df.schema).coalesce(1)
    rows = df._jdf.takeAsList(PILOT_ROWS)
    made = session._jsparkSession.createDataFrame(rows, df._jdf.schema())
    return DataFrame(made, session).coalesce(1)


def _per_row(rows: NDArray[np.float64], seconds: NDArray[np.float64]) -> float:
    """Return what a row takes, rather too little: the lower quartile of slopes between two sizes.

    What every call costs by itself is not a row's: groups of one size do not tell the two apart.
    A call may be held up, and is never too quick: of each size the quickest call counts. Between
    single calls even the quartile of all slopes falls below zero where most are of one size, and a
    function of a millisecond per row was taken for a cheap one.
    """
    sizes, which = np.unique(rows, return_inverse=True)
    if rows.size < 3 or sizes.size < 2:
        return 0.0
    quickest = np.full(sizes.size, np.inf)
    np.minimum.at(quickest, which, seconds)
    one, other = np.triu_indices(sizes.size, 1)
    slopes = (quickest[other] - quickest[one]) / (sizes[other] - sizes[one])
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
