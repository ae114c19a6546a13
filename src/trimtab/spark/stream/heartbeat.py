"""Batches that run although no rows have come: what is due by the clock must not wait for rows."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

EVERY = {"processingTime": "1 second"}
"""The trigger of a query with a heartbeat, unless another was given: without one, it would race."""


def with_heartbeat(rows: DataFrame) -> DataFrame:
    """Return a streaming frame beside a source that ticks whenever it is asked and gives no rows.

    Spark runs a batch when a source has something new. Of its own stateful operators it asks
    whether something is due; those who are called batch by batch are not asked.

    With `availableNow` this source ticks once, and ends. Beside one that knows nothing of that
    trigger, as `rate`, Spark would put all that is there into a single batch.
    """
    ticking = rows.sparkSession.readStream.format("rate-micro-batch").option("rowsPerBatch", 1)
    ticks = ticking.option("numPartitions", 1).load()
    nothing = ticks.where("false").select(
        *(F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema.fields)
    )
    return rows.union(nothing)
