"""Partial results of a small batch in as many tasks as run at once, not in one."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from trimtab.histogram import Histogram
from trimtab.spark.session_facts import is_connect
from trimtab.spark.stream.windows.panes import Windows
from trimtab.spark.stream.windows.segments import Segment

SETTING = "spark.sql.adaptive.coalescePartitions.minPartitionSize"

UNSET = "1b"
"""What Spark is asked to answer if the setting was never made: it must be a valid one."""

LEAST_BYTES = 1 << 18
"""Bytes of partial results, some ten thousand of them, that are worth a task. By default Spark puts
up to a megabyte into one: a batch of 100,000 keys was then merged and written by a single core."""

LEAST_ROWS, MOST_ROWS = 10_000, 1 << 20
"""Partial results per task between which there is a task for every slot: of fewer, starting tasks
takes longer than the work, and of more, a task may not have the memory."""


def tasks_for(
    segments: Sequence[Segment], known: Histogram | None, windows: Windows, slots: int
) -> int | None:
    """Return in how many tasks some segments are merged; None if Spark is to find that.

    Parameters
    ----------
    segments
        The segments, the newest last: it stands for how many panes a batch has.
    known
        What is known of a batch's keys.
    windows
        The windows.
    slots
        Tasks that run at once.
    """
    if known is None or not segments:
        return None
    newest = segments[-1]
    panes = windows.panes_in(newest.first, newest.last) / newest.batches
    rows = min(known.total, known.distinct * panes) * sum(s.batches for s in segments)
    return slots if slots * LEAST_ROWS <= rows <= slots * MOST_ROWS else None


def allow_small_tasks(session: SparkSession) -> None:
    """Let Spark give a task to fewer bytes, unless the user has said how many.

    The session is that of a query's batches, which Spark made for this query alone. On Connect it
    may be the user's own, and is left as it is.
    """
    if not is_connect(session) and str(session.conf.get(SETTING, UNSET)) == UNSET:
        session.conf.set(SETTING, str(LEAST_BYTES))
