"""Partial results of a small batch in as many tasks as run at once, not in one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from trimtab.spark.session_facts import is_connect

SETTING = "spark.sql.adaptive.coalescePartitions.minPartitionSize"

UNSET = "1b"
"""What Spark is asked to answer if the setting was never made: it must be a valid one."""

LEAST_BYTES = 1 << 18
"""Bytes of partial results, some ten thousand of them, that are worth a task. By default Spark puts
up to a megabyte into one: a batch of 100,000 keys was then merged and written by a single core."""


def allow_small_tasks(session: SparkSession) -> None:
    """Let Spark give a task to fewer bytes, unless the user has said how many.

    The session is that of a query's batches, which Spark made for this query alone. On Connect it
    may be the user's own, and is left as it is.
    """
    if not is_connect(session) and str(session.conf.get(SETTING, UNSET)) == UNSET:
        session.conf.set(SETTING, str(LEAST_BYTES))
