"""Prompt's reduce buckets on Spark: partial results go where Algorithm 3 sends them, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners.reduce_buckets import allocate
from trimtab.spark.columns import hash_text
from trimtab.spark.counting.observed import has_arrived
from trimtab.spark.routing.compiled import MOST_INLINE_KEYS, lay_out, with_lane
from trimtab.spark.stream.operations.base import Running
from trimtab.spark.stream.windows.merging import Gathering

BUCKET = "bucket"
"""The column with a partial result's bucket."""


class ReduceBuckets:
    """The buckets of one batch.

    Parameters
    ----------
    plan
        How the rows of the batch were laid out before they were combined.
    histogram
        Its keys, with their rows.
    count
        Number of buckets.
    panes
        Panes in the batch: a key has a partial result for each of them in each of its fragments, at
        most, and no more than it has rows.
    """

    def __init__(self, plan: Plan, histogram: Histogram, count: int, panes: int) -> None:
        self.count = count
        bucket = allocate(plan, partial_results(plan, histogram, panes), count)
        self._of_key = Plan.whole_keys(count, plan.keys, bucket[plan.starts[:-1]])
        self._observation = Observation()

    def lay_out(self, df: DataFrame, keys: Sequence[str]) -> DataFrame:
        """Send each partial result to its bucket, and count them on the way."""
        placed = with_lane(df, self._of_key, BUCKET, F.expr(hash_text(keys)))
        # As many bins as buckets: every bin is one bucket, and its height its exact count.
        bins = f"histogram_numeric(cast({BUCKET} AS double), {max(2, self.count)}) AS rows"
        return lay_out(placed.observe(self._observation, F.expr(bins)), self.count, BUCKET)

    def rows(self) -> NDArray[np.int64] | None:
        """Return the partial results that each bucket got; None if nobody has asked for them."""
        if not has_arrived(self._observation):
            return None
        rows = np.zeros(self.count, dtype=np.int64)
        for found in self._observation.get["rows"] or []:
            rows[round(found["x"])] += int(found["y"])
        return rows


def partial_results(plan: Plan, histogram: Histogram, panes: int) -> Histogram:
    """Return the keys with the partial results that each sends, in place of its rows."""
    at, is_heavy = plan.find(histogram.hashes)
    fragments = np.ones(len(histogram))
    fragments[is_heavy] = np.diff(plan.starts)[at[is_heavy]]
    weights = np.minimum(histogram.weights, fragments * panes)
    sent = histogram.total - float(histogram.weights.sum()) + float(weights.sum())
    return replace(histogram, weights=weights, total=sent, host_weights=None)


def split_keys(plan: Plan | None) -> tuple[int, ...] | None:
    """Return the hashes of the keys that a plan splits, as Spark has them; None if not known.

    A router decides in its tasks, and a plan that splits very many keys has nothing to forward.
    """
    if plan is None:
        return None
    hashes = plan.keys[np.diff(plan.starts) > 1]
    if hashes.size > MOST_INLINE_KEYS:
        return None
    return tuple(hashes.view(np.int64).tolist())


def gathering_for(
    running: Running, keys: tuple[str, ...], panes: int
) -> tuple[Gathering, Callable[[], Mapping[str, Any]]]:
    """Say how partial results come together, and how to ask how many came where.

    In the buckets of Prompt's Algorithm 3, if the keys of the batch were counted; otherwise by
    hash, into as many tasks as were asked for. `panes` is the number of panes in the batch.
    """
    plan, known, tasks = running.batch.plan, running.batch.statistics, running.reduce_tasks
    if plan is None or not running.counted_first or known is None or len(plan) == 0:
        numbers = () if tasks is None else (tasks,)

        def by_hash(df: DataFrame) -> DataFrame:
            return df.repartition(*numbers, *keys)

        return Gathering(keys, by_hash, keys, by_spark=tasks is None), dict
    buckets = ReduceBuckets(plan, known, tasks or plan.lanes, panes)

    def counted() -> Mapping[str, Any]:
        rows = buckets.rows()
        return {} if rows is None else {"reduce_rows": rows.tolist()}

    def in_buckets(df: DataFrame) -> DataFrame:
        return buckets.lay_out(df, keys)

    return Gathering(keys, in_buckets, (BUCKET, *keys)), counted
