"""What a Spark session tells of itself, on Spark Classic and on Spark Connect."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession


def is_connect(of_spark: object) -> bool:
    """Tell whether a session or frame is one of Spark Connect."""
    return type(of_spark).__module__.startswith("pyspark.sql.connect")


def shuffle_partitions(session: SparkSession) -> int:
    """Return the session's number of shuffle partitions."""
    return int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)


def has_bounded_max_by(session: SparkSession) -> bool:
    """Tell whether `max_by` takes a number of values to keep, as it does from Spark 4.2 on."""
    major, minor = str(session.version).split(".")[:2]
    return (int(major), int(minor)) >= (4, 2)


def task_slots(session: SparkSession) -> int | None:
    """Return how many tasks run at once; None on Spark Connect, which has no context to ask."""
    return None if is_connect(session) else int(session.sparkContext.defaultParallelism)


def assigns_by_name(session: SparkSession) -> bool:
    """Tell whether the columns that a function of a group gives are found by their names."""
    setting = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"
    return str(session.conf.get(setting, "true")).lower() == "true"


def prefers_int_extension(session: SparkSession) -> bool:
    """Tell whether functions of groups are given whole numbers as pandas' own `Int64`."""
    setting = "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype"
    return str(session.conf.get(setting, "false")).lower() == "true"


_SLOTS_ATTRIBUTE = "_trimtab_task_slots"


def slots_of(session: SparkSession) -> int:
    """Return how many tasks run at once, on Spark Classic and on Spark Connect.

    On Connect it is the number of partitions that Spark gives a range by itself: one small job,
    once for each session.
    """
    known = task_slots(session)
    if known is not None:
        return max(known, 1)
    kept = getattr(session, _SLOTS_ATTRIBUTE, None)
    if kept is None:
        parts = session.range(1 << 14).selectExpr("spark_partition_id() AS part")
        kept = int(parts.selectExpr("max(part) AS last").collect()[0]["last"]) + 1
        setattr(session, _SLOTS_ATTRIBUTE, kept)
    return int(kept)


def cores_of(session: SparkSession) -> int:
    """Return how many tasks compute at once: of `local[16]` no more than there are processors."""
    slots = slots_of(session)
    local = str(session.conf.get("spark.master", "") or "").startswith("local")
    # Where the server of Connect runs is not known: its processors are not counted here.
    return min(slots, os.cpu_count() or slots) if local and not is_connect(session) else slots
