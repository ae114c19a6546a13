"""What a manifest says of a batch's keys: the heaviest ones, so that it stays short."""

from __future__ import annotations

import numpy as np

from trimtab._plan_arrays import gather_ranges
from trimtab.histogram import Histogram
from trimtab.plan import Plan


def shortened(plan: Plan, histogram: Histogram, most: int) -> Plan:
    """Return a plan of the heaviest keys alone, and of all that are split.

    Where the other keys are, it does not tell: each is whole, in some block.

    Parameters
    ----------
    plan
        The plan.
    histogram
        The keys that it was made for.
    most
        How many of the heaviest keys are kept.

    Examples
    --------
    >>> plan = Plan(2, {5: 0, 6: 1, 7: [(0, 0.5), (1, 0.5)]})
    >>> shortened(plan, Histogram.from_counts({5: 4, 6: 9, 7: 2}), most=1).all_fragments()
    {6: [(1, 1.0)], 7: [(0, 0.5), (1, 0.5)]}
    """
    if len(plan) <= most:
        return plan
    counts = np.diff(plan.starts)
    kept = counts > 1
    at, named = plan.find(histogram.hashes[:most])
    kept[at[named]] = True
    fragments = gather_ranges(plan.starts[:-1][kept], counts[kept])
    starts = np.concatenate(([0], np.cumsum(counts[kept]))).astype(np.int32)
    return Plan.from_arrays(
        plan.lanes,
        plan.keys[kept],
        starts,
        plan.lane_of[fragments],
        plan.shares[fragments],
        plan.hosts,
        plan.maker,
    )
