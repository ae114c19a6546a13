"""A function of all rows of each key in a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import types as T

from trimtab.spark.counting.lane_clock import LaneClock
from trimtab.spark.counting.observed import Observed
from trimtab.spark.groups.hidden_columns import without_columns
from trimtab.spark.groups.one_pass import apply_per_group, in_one_pass
from trimtab.spark.groups.user_functions import PANDAS
from trimtab.spark.stream.operations.base import Nothing, Results, Rows, Running, WithoutMemory


class Apply(WithoutMemory):
    """Apply a function to all rows of each key in a batch.

    Parameters
    ----------
    function
        A function of a pandas frame, or of the key and the frame.
    schema
        Type of what it gives.
    """

    splits = False

    def __init__(self, function: Callable[..., Any], schema: T.StructType) -> None:
        self.function = function
        self.schema = schema

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {"operation": "apply", "schema": self.schema.simpleString()}

    def results(
        self, running: Running, rows: Rows, kept: Nothing, seen: Observed | None
    ) -> Results:
        """Return what the function gives for each key."""
        lane = str(rows.lane)
        session = rows.frame.sparkSession
        if in_one_pass(session, running.schema, running.keys, self.function, PANDAS):
            frame, clock = rows.frame.drop(lane), LaneClock()
            result = apply_per_group(
                *(frame, running.keys, running.hidden, self.function, self.schema, clock)
            )
            return Results(result, clock=clock)
        grouped = rows.frame.groupBy(lane, *running.key_texts)
        inner = without_columns(self.function, [lane, *running.hidden], PANDAS)
        return Results(grouped.applyInPandas(inner, self.schema))
