"""The first rows of every input partition: enough for a plan, where they are like the others.

Spark stops a task as soon as it has given the rows that were asked of its partition, so that a
frame of any size is looked at in a tenth of a second. A pass over all rows, even one that counts
few of them, takes as long as it takes to read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from trimtab.histogram import Histogram
from trimtab.metrics import max_over_mean
from trimtab.planners import Planner
from trimtab.spark.counting.first_rows import FirstRows, frame_rows
from trimtab.spark.session_facts import is_connect
from trimtab.spark.spark_text import plan_facts

ROWS_PER_LANE = 2_000
"""Rows that are asked for, for each lane. Planned from so many, a million rows (Zipf 0 to 1.5, 300
to 100,000 keys) come within 1.06 of level on 16 lanes, and within 1.09 on 64."""

LEAST_ROWS, MOST_ROWS = 1 << 16, 1 << 19
"""Rows that are asked for at least and at most: the first are brought to the driver in no time, and
frames that have no more are counted exactly."""

LEAST_EACH = 1 << 10
"""Rows that are asked of each partition at least: a head of fewer rows tells little of the rest.
Frames of so many partitions that this would be more than is wanted are not looked at."""

ALIKE = 1.25
"""How many times as lopsided as expected one half of the heads may be, laid out by a plan that was
made from the other half. Luck alone makes that 1.17 on 64 lanes."""

HEAVY = 0.25
"""Share of a lane from which on a key must have as much in one half of the heads as in the other.
"""

MOVED = 0.1
"""Share of the rows that the heavy keys of one half may have more, or less, than in the other: luck
alone makes that a fiftieth. Rows in the order of their keys have none in common."""


@dataclass(frozen=True, eq=False)
class Heads(FirstRows):
    """The first rows of every input partition.

    Attributes
    ----------
    partitions
        The input partition of each row, in which the rows stand in their order.
    """

    partitions: NDArray[np.int32]

    def halves(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return early rows of every other partition, and late rows of the others.

        Where keys change from partition to partition, or from the beginning of partitions to their
        end, the two differ. Of a single partition, its early and its late rows.
        """
        _, first, place, count = np.unique(
            self.partitions, return_index=True, return_inverse=True, return_counts=True
        )
        late = 2 * (np.arange(place.size) - first[place]) >= count[place]
        if first.size == 1:
            return self.hashes[~late], self.hashes[late]
        odd = place % 2 == 1
        return self.hashes[~odd & ~late], self.hashes[odd & late]

    def are_alike(self, planner: Planner, top: int, hosts: int) -> bool:
        """Tell whether a plan from one half of the heads fits the other half, too.

        Otherwise the rows that were not looked at may be others again, and must be counted.
        """
        if self.whole:
            return True
        one, other = (Histogram.from_hashes(half, top, hosts=hosts) for half in self.halves())
        if not (one.total and other.total):
            return False
        if _moved(one, other, HEAVY / planner.lanes) > MOVED:
            return False
        plan = planner.plan(one)
        seen, expected = max_over_mean(plan.loads(other)), max_over_mean(plan.loads(one))
        return bool(seen <= ALIKE * expected)


def _moved(one: Histogram, other: Histogram, heavy: float) -> float:
    """Return the share of the rows by which keys that are heavy in one of the two differ."""
    shares = [
        {int(key): float(s) for key, s in zip(of.hashes, of.shares, strict=True)}
        for of in (one, other)
    ]
    hot = {key for known in shares for key, share in known.items() if share >= heavy}
    return sum(abs(shares[0].get(key, 0.0) - shares[1].get(key, 0.0)) for key in hot) / 2


def heads_for(df: DataFrame, key_hash: Column, lanes: int) -> Heads | None:
    """Return the first rows of every partition, as many as a good plan for so many lanes needs."""
    return heads_of(df, key_hash, head_rows(lanes))


def head_rows(lanes: int) -> int:
    """Return how many rows a good plan for so many lanes needs, of all partitions together.

    >>> head_rows(16), head_rows(64)
    (65536, 128000)
    """
    return min(max(ROWS_PER_LANE * lanes, LEAST_ROWS), MOST_ROWS)


def heads_of(df: DataFrame, key_hash: Column, wanted: int) -> Heads | None:
    """Return the first rows of every partition, about so many in all.

    None if they cannot be had quickly: of a frame that is first joined, aggregated, sorted or given
    to a function in Python; of one with very many partitions; and on Spark Connect, which has no
    way to ask for them.
    """
    found = heads_with(df, key_hash, wanted, {})
    return None if found is None else found[0]


def heads_with(
    df: DataFrame, key_hash: Column, wanted: int, more: Mapping[str, Column]
) -> tuple[Heads, pa.Table] | None:
    """Return what `heads_of` does, and a table of the same rows with `hash` and more columns."""
    facts = plan_facts(df)
    if is_connect(df) or not facts.quick:
        return None
    partitions = int(df._jdf.queryExecution().toRdd().getNumPartitions())
    if partitions * LEAST_EACH > wanted:
        return None
    each = -(-wanted // max(partitions, 1))
    columns = [key_hash.alias("hash"), *(column.alias(name) for name, column in more.items())]
    found = _first_of_each(df.select(*columns), each)
    table = found.selectExpr("*", "spark_partition_id() AS part").toArrow()
    hashes = table["hash"].to_numpy().view(np.uint64)
    parts = table["part"].to_numpy().astype(np.int32)
    whole = not hashes.size or int(np.bincount(parts).max()) < each
    rows = float(hashes.size) if whole else max(float(hashes.size), frame_rows(facts))
    return Heads(hashes, rows, whole, parts), table.drop_columns(["part"])


def _first_of_each(df: DataFrame, rows: int) -> DataFrame:
    """Return the first rows of each partition.

    `DataFrame.limit` is this and, above it, a limit of all rows together, for which all of them
    move into one task; the lower of the two alone has no name in Spark's own interface.
    """
    session = df.sparkSession
    jvm = session.sparkContext._jvm
    assert jvm is not None
    of_each = df.limit(rows)._jdf.queryExecution().analyzed().child()
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, of_each)
    return DataFrame(made, session)
