"""Rows on level lanes for a function of the user's: the function is the sink."""

from __future__ import annotations

from typing import Any

from trimtab.spark.counting.observed import Observed
from trimtab.spark.stream.operations.base import Nothing, Results, Rows, Running, WithoutMemory


class ForEachBatch(WithoutMemory):
    """Hand on the rows of each batch, laid out on lanes."""

    splits = True

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {"operation": "for_each_batch"}

    def results(
        self, running: Running, rows: Rows, kept: Nothing, seen: Observed | None
    ) -> Results:
        """Return the rows."""
        return Results(rows.frame.drop(str(rows.lane), *running.hidden))
