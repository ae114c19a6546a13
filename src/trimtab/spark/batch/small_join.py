"""A join of small frames: on few partitions, each with a hash table of its smaller side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyspark.sql import SparkSession

from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners.join import JoinPlan
from trimtab.spark.batch.fewer_partitions import fewer_partitions
from trimtab.spark.spark_text import JoinFacts

_MAY_BUILD = {
    "right": ("inner", "left_outer", "left_semi", "left_anti"),
    "left": ("inner", "right_outer"),
}
"""The joins for which Spark can build its hash table of that side."""


@dataclass(frozen=True)
class SmallJoin:
    """Where the rows of a small join go, and the side that hash tables are made of."""

    made: JoinPlan
    built: str


def hashed_on_few(session: SparkSession, facts: JoinFacts, kind: str) -> SmallJoin | None:
    """Return how a small join is laid out on few partitions, None if Spark's own may stay.

    Spark itself would sort both sides on each of its partitions; and it takes no other number of
    them than the session's, unless rows are laid out by a column of the condition.

    Parameters
    ----------
    session, facts
        The session, and what is known of the two sides.
    kind
        The kind of join.
    """
    sides = facts.left, facts.right
    partitions = fewer_partitions(session, *sides)
    if partitions is None or facts.plain.shuffles != 2:
        return None
    sizes = [side.bytes or 0.0 for side in sides]
    built = "left" if sizes[0] < sizes[1] else "right"
    if kind not in _MAY_BUILD[built]:
        return None
    by_hash = Plan(partitions, {}, np.arange(partitions, dtype=np.int32), "hash")
    none = np.empty(0, dtype=np.uint64)
    return SmallJoin(JoinPlan(by_hash, none, none, Histogram.from_counts({})), built)
