"""Jobs that Spark plans once: where the number of tasks is known, there is nothing to adapt to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from trimtab.spark.session_facts import is_connect, shuffle_partitions

ADAPTIVE = "spark.sql.adaptive.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"


@contextmanager
def planned_once(session: SparkSession, tasks: int | None) -> Iterator[None]:
    """Let jobs that begin inside be planned once, with so many tasks behind an exchange.

    Adaptive execution makes every exchange a job of its own and plans again behind it, which a
    small batch pays as dearly as a large one. What the user has switched off stays as it is, and
    no job gets more tasks than the session allows. Nothing changes without `tasks`, nor on Spark
    Connect, where the session may be the user's own; otherwise it is that of a query's batches.
    """
    if tasks is None or is_connect(session) or session.conf.get(ADAPTIVE) != "true":
        yield
        return
    before = shuffle_partitions(session)
    session.conf.set(ADAPTIVE, "false")
    session.conf.set(PARTITIONS, str(min(tasks, before)))
    try:
        yield
    finally:
        session.conf.set(PARTITIONS, str(before))
        session.conf.set(ADAPTIVE, "true")
