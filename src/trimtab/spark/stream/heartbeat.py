"""Batches that run although no rows have come: what is due by the clock must not wait for rows."""

from __future__ import annotations

import hashlib

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from trimtab.journal.store import Store
from trimtab.spark.source.data_source import HAS_LIMITS
from trimtab.spark.source.last_look import last_look_source

EVERY = {"processingTime": "1 second"}
"""The trigger of a query with a heartbeat, unless another was given: without one, it would race."""

_REGISTERED = "_trimtab_last_looks"
"""The attribute of a session that tells which sources it knows."""


def with_heartbeat(rows: DataFrame, place: Store, *, ends: bool) -> DataFrame:
    """Return a streaming frame beside a source that ticks whenever it is asked and gives no rows.

    Spark runs a batch when a source has something new. Of its own stateful operators it asks
    whether something is due; those who are called batch by batch are not asked.

    Parameters
    ----------
    rows
        The frame.
    place
        The checkpoint of its query.
    ends
        Whether the query ends by itself (`availableNow`). Then the source ticks at the start, and
        after every batch that had rows: Spark's operators look once more after the last rows, and
        so do ours.
    """
    spark = rows.sparkSession
    if ends and HAS_LIMITS and _looks_once_more(spark):
        ticks = spark.readStream.format(_registered(spark, place)).load()
    else:
        # With `availableNow` this source ticks once, and ends. Beside one that knows nothing of
        # that trigger, as `rate`, Spark would put all that is there into a single batch.
        ticking = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1)
        ticks = ticking.option("numPartitions", 1).load()
    nothing = ticks.where("false").select(
        *(F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema.fields)
    )
    return rows.union(nothing)


def _looks_once_more(spark: SparkSession) -> bool:
    """Tell whether Spark's own operators would run a batch without rows."""
    setting = spark.conf.get("spark.sql.streaming.noDataMicroBatches.enabled", "true")
    return str(setting).lower() == "true"


def _registered(spark: SparkSession, place: Store) -> str:
    """Make a session know the source for a checkpoint; return its name."""
    known: dict[str, bytes] = vars(spark).setdefault(_REGISTERED, {})
    name = f"trimtab_last_look_{hashlib.sha256(place.uri.encode()).hexdigest()[:16]}"
    # The store travels inside of the source: among options, its settings could be read in plans.
    packed = cloudpickle.dumps(place)
    if known.get(name) != packed:
        spark.dataSource.register(last_look_source(name, packed))
        known[name] = packed
    return name
