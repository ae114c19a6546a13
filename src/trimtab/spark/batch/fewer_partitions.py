"""Spark's own plan on fewer partitions, where the session's number is far too large for a frame.

AQE puts small partitions together again only after every task has written all of them: of 200
partitions by 16 tasks that takes longer than the work itself on a million rows. Rows that Spark
combines before they move are read by fewer tasks, others are moved to fewer partitions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, SparkSession

from trimtab.spark.batch.aggregates import combines
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.session_facts import cores_of, shuffle_partitions
from trimtab.spark.spark_text import PlanFacts, calls_python, physical_plan, plan_facts

if TYPE_CHECKING:
    from pyspark.sql import GroupedData

ADAPTIVE = "spark.sql.adaptive.enabled"

PARTITION_BYTES = float(1 << 25)
"""Bytes of a partition, as the optimizer knows them: those of files are packed, several to one."""

PARTITIONS_PER_CORE = 2

TOO_MANY = 4
"""How many times as many partitions the session must have: what is nearly right is left alone."""

COMBINED_ROWS = 3e6
"""Rows per processor up to which an aggregate that Spark combines first is done in fewer pieces.
The more rows there are, the less it matters in how many."""


@dataclass(frozen=True)
class Fewer:
    """Spark's own aggregation in fewer pieces than it would take by itself.

    Attributes
    ----------
    pieces
        How many.
    combined
        Whether so many tasks read the rows and combine them, and AQE puts together what they write;
        otherwise the rows move to so many partitions as they are.
    """

    pieces: int
    combined: bool

    def grouped(self, keyed: KeyedFrame) -> GroupedData:
        """Return the frame as Spark groups it."""
        given, key = keyed.given, keyed.given_key
        laid_out = (
            given.coalesce(self.pieces) if self.combined else given.repartition(self.pieces, *key)
        )
        return laid_out.groupBy(*key)

    def words(self, session: SparkSession) -> str:
        """Say in words what is done."""
        if not self.combined:
            return says_fewer(self.pieces, session)
        return (
            f"its rows read and combined in {self.pieces} tasks, one for each processor, which "
            f"write {shuffle_partitions(session)} parts each; as many as the frame has partitions "
            "would write more than they combine"
        )


def fewer_partitions(
    session: SparkSession, *frames: PlanFacts, combined: bool = False, least: int = 1
) -> int | None:
    """Return how many partitions frames need for a shuffle, None if the session's number may stay.

    Parameters
    ----------
    session
        Their session.
    frames
        What the optimizer knows of them. Nothing is done unless it knows their sizes.
    combined
        Whether Spark would combine their rows before they move.
    least
        Partitions that are needed in any case, whatever the size.
    """
    if not all(facts.quick and facts.bytes is not None for facts in frames):
        return None
    cores = cores_of(session)
    if combined and not all(
        facts.rows is not None and facts.rows <= COMBINED_ROWS * cores for facts in frames
    ):
        return None
    size = sum(facts.bytes or 0.0 for facts in frames)
    needed = max(PARTITIONS_PER_CORE * cores, math.ceil(size / PARTITION_BYTES), least)
    return needed if TOO_MANY * needed <= shuffle_partitions(session) else None


def fewer_for_groups(keyed: KeyedFrame, aggregates: Sequence[Column]) -> Fewer | None:
    """Return in how many pieces Spark should aggregate; None if that may stay as it is.

    A key that is an expression is left alone: whether Spark sees that rows are apart by it already,
    or moves them once more, depends on the expression.
    """
    if keyed.added or not keyed.names or keyed.given.isStreaming:
        return None
    plain = keyed.by_spark.agg(*aggregates)
    if not plan_facts(plain).shuffles or calls_python(physical_plan(plain)):
        # What a function in Python takes is not known: it is called in as many tasks as there are.
        return None
    facts, session = plan_facts(keyed.given), keyed.given.sparkSession
    combined = combines(aggregates, plain)
    partitions = fewer_partitions(session, facts, combined=combined)
    if partitions is None:
        return None
    if combined and session.conf.get(ADAPTIVE) == "true":
        return Fewer(cores_of(session), combined=True)
    return Fewer(partitions, combined=False)


def says_fewer(partitions: int, session: SparkSession) -> str:
    """Say in words what is done."""
    return (
        f"on {partitions} partitions, as its size and {cores_of(session)} processors ask for, "
        f"instead of {shuffle_partitions(session)}"
    )
