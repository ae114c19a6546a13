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
