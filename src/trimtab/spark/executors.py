"""Asking Spark for executors, where it can add some; saying how many are missing, where not."""

from __future__ import annotations

import math

from pyspark.sql import SparkSession

from trimtab.spark.session_facts import task_slots


def ask_for_slots(session: SparkSession, tasks: int) -> str:
    """Ask for as many executors as so many tasks need at once, and say what was asked for.

    Spark adds executors while it runs only with dynamic allocation, and takes wishes only from
    drivers on Spark Classic; elsewhere the answer says what there should be. It is empty if there
    are slots enough.
    """
    slots = task_slots(session)
    if slots is None or tasks <= slots:
        return ""
    context = session.sparkContext
    scala = context._jsc.sc()
    # The driver is among those that report their memory; locally it is the only one.
    executors = max(1, int(scala.getExecutorMemoryStatus().size()) - 1)
    each = max(1, slots // executors)
    more = math.ceil((tasks - slots) / each)
    told = f"{tasks} tasks at once need {more} more executors of {each} slots"
    if str(context.getConf().get("spark.dynamicAllocation.enabled", "false")).lower() != "true":
        return f"{told}: add them, or switch spark.dynamicAllocation.enabled on"
    asked = bool(scala.requestExecutors(more))
    return f"{told}: " + ("Spark was asked for them" if asked else "Spark took no wish for them")
