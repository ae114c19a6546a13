"""A first look at a frame: a few thousand of its rows, to decide whether more is worth while."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from trimtab.histogram import Histogram
from trimtab.spark.counting.counted import LEAST_HITS, keys_beyond
from trimtab.spark.spark_text import PlanFacts, plan_facts

LOOKED_AT = 1 << 12
"""Rows that are looked at. A key with 1 % of them is then known to within a sixth of its weight."""

FIRST_ROWS_PER_LANE = 1_500
"""Rows per lane from which a plan is made that sees no others. Drawn at random, they level 16 and
64 lanes to within 1.11 of the least possible for Zipf 0 to 1.5."""

MOST_FIRST_ROWS = 1 << 18

ROW_BYTES = 64.0
"""Bytes of a row where only the size of the frame is known: it sets the scale, and no more."""


@dataclass(frozen=True, eq=False)
class FirstRows:
    """What the first rows of a frame tell of all of them.

    Attributes
    ----------
    hashes
        Key hashes of the rows that were looked at.
    rows
        Number of rows of the frame, as far as it is known.
    whole
        Whether all rows were looked at.

    Notes
    -----
    The rows are the first of the first partitions. Where those are like the others, a key's share
    is met within the noise of so many rows; where they are not, the look misleads. So it decides
    whether to count, and a plan is made from it only if the user asks for that.
    """

    hashes: NDArray[np.uint64]
    rows: float
    whole: bool

    @property
    def histogram(self) -> Histogram:
        """The keys that were met often enough, each with the rows that it stands for."""
        seen = Histogram.from_hashes(self.hashes)
        if self.whole or not self.hashes.size:
            return seen
        scale = self.rows / self.hashes.size
        often = seen.weights >= LEAST_HITS
        return Histogram.from_counts(
            (seen.hashes[often], seen.weights[often] * scale),
            total=self.rows,
            distinct=self.distinct,
        )

    def counted(self, top: int, hosts: int) -> Histogram:
        """Return all keys that were seen, as a planner takes them: the heaviest, and by host."""
        seen = Histogram.from_hashes(self.hashes, top, hosts=hosts)
        return seen if self.whole or not self.hashes.size else seen.scaled(self.rows / seen.total)

    @property
    def distinct(self) -> int:
        """Number of keys of the frame, estimated from how many were met once."""
        counts = np.unique(self.hashes, return_counts=True)[1]
        if self.whole or not counts.size:
            return int(counts.size)
        once = int((counts == 1).sum())
        return keys_beyond(counts.size, once, self.hashes.size, self.rows)

    @property
    def hottest(self) -> float:
        """Share of the rows that the most frequent key has."""
        if not self.hashes.size:
            return 0.0
        return float(np.unique(self.hashes, return_counts=True)[1].max() / self.hashes.size)


def first_rows_of(df: DataFrame, key_hash: Column, wanted: int = LOOKED_AT) -> FirstRows | None:
    """Return a first look at a frame, or None if it could not be had quickly.

    It takes one job over the first partition, and more over the next ones where that has fewer rows
    than are wanted. A frame that is first joined, aggregated, sorted or given to a function in
    Python is not looked at: all of it might have to be computed for that.
    """
    facts = plan_facts(df)
    return _taken(df, key_hash, wanted, facts) if facts.quick else None


def share_size(lanes: int) -> int:
    """Return how many rows a plan for so many lanes should know that is made from no others.

    >>> share_size(35)
    52500
    """
    return min(max(FIRST_ROWS_PER_LANE * lanes, LOOKED_AT), MOST_FIRST_ROWS)


def first_share(df: DataFrame, key_hash: Column, count: int) -> FirstRows:
    """Return the first rows of a frame, whatever it takes to make them."""
    return _taken(df, key_hash, count, plan_facts(df))


def _taken(df: DataFrame, key_hash: Column, count: int, facts: PlanFacts) -> FirstRows:
    # Not `toArrow`, which starts a task for every partition where `collect` stops at the first.
    taken = df.select(key_hash.alias("hash")).limit(count).collect()
    hashes = np.array([row[0] for row in taken], dtype=np.int64).view(np.uint64)
    whole = hashes.size < count
    rows = float(hashes.size)
    return FirstRows(hashes, rows if whole else max(rows, frame_rows(facts)), whole)


def frame_rows(facts: PlanFacts) -> float:
    """Return how many rows a frame has, as far as the optimizer knows."""
    if facts.rows is not None:
        return facts.rows
    return 0.0 if facts.bytes is None else facts.bytes / ROW_BYTES
