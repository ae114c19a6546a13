"""Routers on a DataFrame: a numba kernel over Arrow batches, one instance per input partition.

Only key hashes, which Spark computed, go to Python and only lanes come back; all other columns stay
in the JVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab import state as states
from trimtab.histogram import Histogram
from trimtab.routers import Router
from trimtab.spark.columns import spare_names
from trimtab.spark.routing.task_states import InTasks
from trimtab.spark.shipping import shipped


def route_in_tasks(
    df: DataFrame,
    name: str,
    key_hash: Column,
    row_hash: Column,
    router: Router,
    kept: InTasks | None = None,
    expected: Histogram | None = None,
) -> DataFrame:
    """Add the lane that a router gives each row as the integer column `name`.

    Each input partition has a router of its own, as each source has in the papers. Rows are first
    sorted by their hash inside the partition: a router's decisions depend on the order of tuples,
    and after a shuffle the order may differ when a task runs again; the sorted order does not.

    Parameters
    ----------
    df
        The frame.
    name
        Name of the new column.
    key_hash, row_hash
        Hash columns, as `columns.key_columns(...).hash` and `row_hash.row_hash` give them.
    router
        The router that every task starts from a copy of: with its parameters, and with what it has
        learned.
    kept
        Where tasks of a stream keep their routers from batch to batch. A task that finds no state
        of its own there starts from `router`.
    expected
        The keys of the frame, if they were looked at before: routers are told (`Router.expect`).
    """
    hashed, row = spare_names([*df.columns, name], "hash", "row")
    sorted_rows = df.select("*", key_hash.alias(hashed), row_hash.alias(row)).sortWithinPartitions(
        F.col(row), F.col(hashed)
    )
    route = _routing(router, kept, expected if router.heeds_counts else None)
    return sorted_rows.select("*", route(F.col(hashed)).alias(name)).drop(hashed, row)


def _routing(
    router: Router, kept: InTasks | None, expected: Histogram | None
) -> Callable[[Column], Column]:
    # The class travels, not its name: a task need not have the registry that the driver has.
    cls, start = type(router), states.dump(router.state())
    told = None if expected is None else expected.to_json()

    def route(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        instance = None if kept is None else kept.of_task(number, cls)
        if instance is None:
            instance = cls.restore(states.parse(start))
        if told is not None:
            instance.expect(Histogram.from_json(told))
        for batch in batches:
            hashes = np.asarray(batch.to_numpy(zero_copy_only=False), dtype=np.int64)
            yield pa.array(instance.route(hashes), type=pa.int32())
        if kept is not None:
            kept.leave(number, instance)

    # Routing the same rows twice would give other lanes: Spark must not copy the call about.
    return F.arrow_udf(shipped(route), "int").asNondeterministic()  # type: ignore[no-any-return]
