"""Spark's own plan on fewer partitions, where the session's number is far too large for a frame.

AQE puts small partitions together again only after every task has written all of them: of 200
partitions by 16 tasks that takes longer than the work itself on a million rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyspark.sql import Column, SparkSession

from trimtab.spark.batch.aggregates import combines
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.session_facts import cores_of, shuffle_partitions
from trimtab.spark.spark_text import PlanFacts, plan_facts

PARTITION_BYTES = float(1 << 25)
"""Bytes of a partition, as the optimizer knows them: those of files are packed, several to one."""

PARTITIONS_PER_CORE = 2

TOO_MANY = 4
"""How many times as many partitions the session must have: what is nearly right is left alone."""

COMBINED_ROWS = 3e6
"""Rows per processor up to which an aggregate that Spark combines first gets fewer partitions.
Its rows then move uncombined, which takes longer the more they are."""


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


def fewer_for_groups(keyed: KeyedFrame, aggregates: Sequence[Column]) -> int | None:
    """Return on how many partitions Spark should aggregate; None if the session's number may stay.

    A key that is an expression is left alone: whether Spark sees that rows are apart by it already,
    or moves them once more, depends on the expression.
    """
    if keyed.added or not keyed.names or keyed.given.isStreaming:
        return None
    plain = keyed.by_spark.agg(*aggregates)
    if not plan_facts(plain).shuffles:
        return None
    facts = plan_facts(keyed.given)
    return fewer_partitions(keyed.given.sparkSession, facts, combined=combines(aggregates, plain))


def says_fewer(partitions: int, session: SparkSession) -> str:
    """Say in words what is done."""
    return (
        f"on {partitions} partitions, as its size and {cores_of(session)} processors ask for, "
        f"instead of {shuffle_partitions(session)}"
    )
