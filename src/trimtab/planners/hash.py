"""The empty plan: plain hashing, for comparison and as an honest answer."""

from __future__ import annotations

from trimtab.histogram import Histogram
from trimtab.plan import Plan
from trimtab.planners.base import Planner


class HashPlanner(Planner):
    """Place nothing: every key goes to `key hash mod lanes`.

    Examples
    --------
    >>> HashPlanner(lanes=4).plan(Histogram.from_counts({5: 9.0})).fragments(5)
    [(1, 1.0)]
    """

    name = "hash"
    paper = "uniform hash partitioning (baseline of all five papers)"
    is_plain_hashing = True
    needs_counts = False
    cost = "nothing"
    state_in_words = "none"
    use_when = "keys are even"
    complexity = 0

    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        return Plan(self.lanes, maker=self.name)
