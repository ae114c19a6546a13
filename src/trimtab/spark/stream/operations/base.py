"""What a stream does with each batch: hand it to a function, or apply one to every key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.histogram import Histogram
from trimtab.journal import checkpoint
from trimtab.journal.checkpoint import Checkpoint
from trimtab.plan import Plan
from trimtab.spark.columns import (
    hash_text,
    label_text,
    quoted,
    row_bytes_text,
    row_hash_text,
    spare_names,
)
from trimtab.spark.counting.observed import Observed, Watch, Watched
from trimtab.spark.groups.functions import PANDAS, without_columns
from trimtab.spark.groups.one_pass import apply_per_group, in_one_pass
from trimtab.spark.routing.compiled import lay_out, with_lane
from trimtab.spark.routing.in_stream_tasks import route_with_memory
from trimtab.spark.stream.sinks.base import Sink
from trimtab.spark.stream.steering import Route

WAIT_SECONDS = 5.0
"""How long to wait for the figures of a batch whose rows a user's function may never have used."""


@dataclass(frozen=True, eq=False)
class Batch:
    """What a user's function is told about its batch.

    Attributes
    ----------
    id
        Spark's number of the batch: the same when the batch runs again.
    lanes
        Number of lanes.
    plan
        The plan that laid the rows out, None if a router did.
    partitioner
        Name of the planner or router.
    statistics
        The keys as earlier batches have shown them; None before anything was seen.
    loads
        Rows expected on each lane, of a batch like `statistics`; None if that cannot be said.
    """

    id: int
    lanes: int
    plan: Plan | None
    partitioner: str
    statistics: Histogram | None
    loads: NDArray[np.float64] | None


@dataclass(frozen=True)
class Task:
    """One run of one batch: its rows, how they route, and what is needed to do so."""

    rows: DataFrame
    schema: T.StructType
    batch: Batch
    route: Route
    keys: tuple[str, ...]
    checkpoint: Checkpoint
    watch: Watch
    sink: Sink | None

    @property
    def key_texts(self) -> list[str]:
        """The key columns as SQL text."""
        return [quoted(name) for name in self.keys]

    @property
    def key_hash(self) -> str:
        """The key's hash, as SQL text."""
        return hash_text(self.key_texts)

    def watched(self, hashed: str, **texts: Any) -> Watched:
        """Say what is to be observed."""
        return Watched(hashed, label_text(self.key_texts), row_bytes_text(self.schema), **texts)

    def with_lanes(self, df: DataFrame, lane: str, hashed: str) -> DataFrame:
        """Add the lane of each row as column `lane`."""
        rows = F.expr(row_hash_text(self.schema))
        if self.route.plan is not None:
            return with_lane(df, self.route.plan, lane, hashed, rows)
        number = self.batch.id
        return route_with_memory(
            df,
            lane,
            F.col(hashed),
            rows,
            router_name=str(self.route.router),
            parameters=self.route.parameters,
            before=self.routers(number - 1) if number else None,
            after=self.routers(number),
        )

    def routers(self, number: int) -> Any:
        """Return the place of the routers' states after a batch."""
        return self.checkpoint.directory("routers", str(number))

    def laid_out(self) -> tuple[DataFrame, str]:
        """Return the rows on their lanes, observed, and the name of the lane column."""
        hashed, lane = spare_names(self.schema.names, "hash", "lane")
        hashed_rows = self.rows.select(
            "*", F.expr(f"{self.key_hash} AS {hashed}"), self.watch.sampled
        )
        placed = self.with_lanes(hashed_rows, lane, hashed)
        seen, added = self.watch.on(placed, self.watched(hashed, lane=lane))
        return lay_out(seen.drop(hashed, *added), self.route.lanes, lane), lane


@dataclass(frozen=True)
class Outcome:
    """What came of a batch: the figures, what to remember, and what to say in the log."""

    seen: Observed | None
    memory: dict[str, Any]
    event: dict[str, Any]
    panes: frozenset[str] = frozenset()


class Operation(ABC):
    """One kind of work on every batch."""

    splits: bool
    """Whether it can work with keys that are split over lanes."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""

    @abstractmethod
    def run(self, task: Task, memory: dict[str, Any]) -> Outcome:
        """Do the work of a batch, and put its results in the sink."""


class ForEachBatch(Operation):
    """Hand the rows of each batch, laid out on lanes, to a function."""

    splits = True

    def __init__(self, function: Callable[[DataFrame, Batch], Any]) -> None:
        self.function = function

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {"operation": "for_each_batch"}

    def run(self, task: Task, memory: dict[str, Any]) -> Outcome:
        """Call the function."""
        rows, lane = task.laid_out()
        self.function(rows.drop(lane), task.batch)
        checkpoint.at("function done", task.batch.id)
        return Outcome(task.watch.read(WAIT_SECONDS), {}, {})


class Apply(Operation):
    """Apply a function to all rows of each key in a batch."""

    splits = False

    def __init__(self, function: Callable[..., Any], schema: T.StructType) -> None:
        self.function = function
        self.schema = schema

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {"operation": "apply", "schema": self.schema.simpleString()}

    def run(self, task: Task, memory: dict[str, Any]) -> Outcome:
        """Put what the function gives for each key in the sink."""
        rows, lane = task.laid_out()
        if in_one_pass(task.schema, task.keys, self.function, PANDAS):
            results = apply_per_group(rows.drop(lane), task.keys, [], self.function, self.schema)
        else:
            grouped = rows.groupBy(lane, *task.key_texts)
            inner = without_columns(self.function, [lane], PANDAS)
            results = grouped.applyInPandas(inner, self.schema)
        if task.sink is not None:
            if task.sink.has(task.batch.id):
                # The results are there, the figures are not: they died with the driver.
                rows.write.format("noop").mode("overwrite").save()
            else:
                task.sink.write(results, task.batch, task.rows.sparkSession)
        checkpoint.at("sink done", task.batch.id)
        return Outcome(task.watch.read(WAIT_SECONDS), {}, {})
