"""The contract of every planner: a histogram, and the plan so far, to a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from trimtab._checks import lane_count
from trimtab._described import Described
from trimtab._parameters import LANES, Parameter
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.plan import Plan


class Planner(Described, ABC):
    """A partitioner that sees a whole batch. It keeps no state: what it needs is in its arguments.

    Subclasses set the class attributes here and in `Described`, and write `_plan`.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    """

    splits_keys: bool = False
    """Whether its plans may put one key on several lanes."""
    takes: ClassVar[tuple[Parameter[Any], ...]] = (LANES,)

    needs_counts: ClassVar[bool] = True
    """Whether the plan depends on the histogram; where it does not, nothing need be counted."""
    counts_batch_first: ClassVar[bool] = False
    """Whether a micro-batch is planned from its own keys, counted before it runs, and not from the
    batches before it."""
    settles_within: ClassVar[float] = 0.02
    """The share of the weight that a new plan moves at most, once the stream is stationary."""
    known_keys_per_lane: ClassVar[float] = 8.0
    """Heaviest keys per lane that a prediction shows it one by one; it gets the rest by host. Fewer
    where planning takes more than about the number of keys times the lanes."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lane_count(lanes)

    @property
    def hosts(self) -> int:
        """Number of hosts that keys are to be counted by; 0 where any number will do."""
        return 0

    def plan(
        self, histogram: Histogram, previous: Plan | None = None, *, exact: bool = False
    ) -> Plan:
        """Make a plan for keys distributed as in `histogram`.

        Parameters
        ----------
        histogram
            The keys.
        previous
            The plan in force: planners that care for state keep what they can of it. If it has
            another number of lanes, its lanes are first wrapped round to this planner's number.
        exact
            Whether the histogram tells of the very rows that the plan is for. Otherwise it tells of
            rows before them, and those to come differ from it by chance.
        """
        if not isinstance(histogram, Histogram):
            raise InvalidArgument(
                f"plan() takes a trimtab.Histogram; got {type(histogram).__name__}; "
                "make one with Histogram.from_hashes or Histogram.from_counts"
            )
        if previous is not None:
            previous = previous.resized(self.lanes)
        return (self._plan_exactly if exact else self._plan)(histogram, previous)

    def _plan_exactly(self, histogram: Histogram, previous: Plan | None) -> Plan:
        """Make the plan for the very rows of the histogram; most planners know no difference."""
        return self._plan(histogram, previous)

    @abstractmethod
    def _plan(self, histogram: Histogram, previous: Plan | None) -> Plan:
        """Make the plan; `previous` has as many lanes as this planner."""
