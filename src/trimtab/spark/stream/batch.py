"""What a user's function, and a sink, are told about the batch that they work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.histogram import Histogram
from trimtab.plan import Plan


@dataclass(frozen=True, eq=False)
class Batch:
    """A micro-batch: its number, and how its rows were laid out.

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
        The keys of this batch if it was looked at, else as earlier batches have shown them; None
        before anything was seen.
    loads
        Rows expected on each lane, of a batch like `statistics`; None if that cannot be said.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> clicks = rows.selectExpr("if(value < 6, 'ann', 'bob') as user", "timestamp as ts")
    >>> stream = tt.stream(clicks, "user", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> seen = []
    >>> stream.for_each_batch(lambda rows, batch: seen.append((batch, rows.count()))).start(
    ...     trigger={"availableNow": True}
    ... ).awaitTermination()
    >>> batch, rows = seen[0]
    >>> batch.id, batch.lanes, batch.partitioner, rows
    (0, 2, 'trim', 9)
    """

    id: int
    lanes: int
    plan: Plan | None
    partitioner: str
    statistics: Histogram | None
    loads: NDArray[np.float64] | None
