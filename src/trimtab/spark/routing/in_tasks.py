"""Routers on a DataFrame: a numba kernel over Arrow batches, one instance per input partition.

Only key hashes, which Spark computed, go to Python and only lanes come back; all other columns stay
in the JVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trimtab.routers import router, router_class
from trimtab.spark.columns import spare_names

Batches = Iterator[pa.Array]


def route_with_router(
    df: DataFrame,
    name: str,
    key_hash: Column,
    row_hash: Column,
    *,
    router_name: str,
    **parameters: Any,
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
        Hash columns, as `columns.key_columns(...).hash` and `columns.row_hash` give them.
    router_name, parameters
        The router's registry name and constructor arguments, `lanes` among them. They are checked
        here, on the driver.
    """
    router(router_name, **parameters)
    hashed, row = spare_names([*df.columns, name], "hash", "row")
    sorted_rows = df.select("*", key_hash.alias(hashed), row_hash.alias(row)).sortWithinPartitions(
        F.col(row), F.col(hashed)
    )
    route = _route_batches(router_name, parameters)
    return sorted_rows.select("*", route(F.col(hashed)).alias(name)).drop(hashed, row)


def _route_batches(name: str, parameters: dict[str, Any]) -> Callable[[Column], Column]:
    # Loaded on the driver so that a missing algorithm fails here and not in a task.
    router_class(name)

    def route(batches: Batches) -> Batches:
        instance = router(name, **parameters)
        for batch in batches:
            hashes = np.asarray(batch.to_numpy(zero_copy_only=False), dtype=np.int64)
            yield pa.array(instance.route(hashes), type=pa.int32())

    # Routing the same rows twice would give other lanes: Spark must not copy the call about.
    return F.arrow_udf(route, "int").asNondeterministic()  # type: ignore[no-any-return]
