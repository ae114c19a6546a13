"""The rows of a micro-batch where its operation wants them, watched in the same pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.spark.columns import hash_text, label_text, quoted, row_bytes_text, spare_names
from trimtab.spark.counting.observed import Watch, Watched
from trimtab.spark.routing.compiled import lay_out
from trimtab.spark.routing.route import Route
from trimtab.spark.routing.task_states import TaskStates
from trimtab.spark.row_hash import row_hash_text
from trimtab.spark.stream.operations.base import Rows, Wanted


@dataclass(frozen=True, eq=False)
class Placing:
    """How rows of one type come to their lanes.

    Attributes
    ----------
    schema
        Type of the rows.
    keys
        Names of the key columns.
    names_keys
        Whether hot keys are named as they are; otherwise by their hash.
    spread
        What decides which fragment of a split key a row goes to, as SQL text; by default the hash
        of the row.
    """

    schema: T.StructType
    keys: tuple[str, ...]
    names_keys: bool
    spread: str | None

    def placed(
        self,
        rows: DataFrame,
        route: Route,
        wanted: Wanted,
        watch: Watch,
        tasks: TaskStates | None,
    ) -> Rows:
        """Lay the rows out as the operation wants them, with an observation in the same pass."""
        texts = [quoted(name) for name in self.keys]
        hashed, lane = spare_names([*self.schema.names, *wanted.columns], "hash", "lane")
        columns = [f"{text} AS {name}" for name, text in wanted.columns.items()]
        looked_at = wanted.on_lanes or wanted.heavy_from is None
        if looked_at:
            columns += [f"{hash_text(texts)} AS {hashed}", watch.sampled]
        frame = rows.selectExpr("*", *columns)

        def watched(**more: Any) -> Watched:
            label = label_text(texts) if self.names_keys else "''"
            size = row_bytes_text(self.schema)
            return Watched(
                hashed, label, size, kept=wanted.counted, in_groups=wanted.in_pieces, **more
            )

        if not wanted.on_lanes:
            if looked_at:
                frame, _ = watch.on(frame, watched(hottest_only=True))
            return Rows(frame, None)
        kept = None if tasks is None else tasks.in_tasks
        # Routers sort by the row's hash, so that they see one order whatever the source's is.
        by_row = self.spread is None or route.router is not None
        spread = row_hash_text(self.schema) if by_row else self.spread
        placed = route.placed(frame, lane, hashed, F.expr(str(spread)), kept)
        seen, added = watch.on(placed, watched(lane=lane))
        moving = seen.drop(hashed, *added)
        if wanted.beside is not None:
            moving = wanted.beside(moving, lane)
        return Rows(lay_out(moving, route.lanes, lane), lane)
