"""The contract of every planner: a histogram, and the plan so far, to a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from trimtab._checks import lane_count
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan


class Planner(ABC):
    """A partitioner that sees a whole batch. It keeps no state: what it needs is in its arguments.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    """

    name: ClassVar[str]
    """The registry's name."""
    paper: ClassVar[str]
    """Where the algorithm is from, in a few words."""
    splits_keys: bool = False
    """Whether its plans may put one key on several lanes."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lane_count(lanes)

    def plan(self, histogram: Histogram, previous: Plan | None = None) -> Plan:
        """Make a plan for keys distributed as in `histogram`.

        `previous` is the plan in force: planners that care for state keep what they can of it. A
        previous plan on another number of lanes is taken as it would wrap onto these.
        """
        if not isinstance(histogram, Histogram):
            raise InvalidArgument(
                f"plan() takes a trimtab.Histogram; got {type(histogram).__name__}; "
                "make one with Histogram.from_hashes or Histogram.from_counts"
            )
        if previous is not None:
            previous = previous.resized(self.lanes)
        return self._plan(histogram, previous)

    @abstractmethod
    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        """Make the plan; `previous` has as many lanes as this planner."""
