"""Loads that restart with every batch: what pkg, potc, porc, cg and bounded-ch share.

Their papers know one endless run and count loads from its start. Over the batches of a stream such
loads lose their meaning: after 200 batches, one percent of all tuples is more than a batch brings,
so that a lane with room for it takes a new hot key whole. What must be level is the batch.
"""

from __future__ import annotations

from trimtab._parameters import Parameter, YesNo
from trimtab.routers.base import Router

ENDLESS = Parameter(
    "endless", False, YesNo(), "whether loads count from the start, across advance(), as in papers"
)


class RestartingRouter(Router):
    """A router whose loads count from the last `advance()`, or with `endless` from the start.

    Parameters
    ----------
    lanes
        Number of destinations, 1 or more.
    seed
        Chooses the hash functions and the random decisions.
    endless
        Whether `advance` leaves the loads alone.
    """

    def __init__(self, lanes: int, seed: int, endless: bool) -> None:
        super().__init__(lanes, seed)
        self.endless = self._check(ENDLESS, endless)

    def advance(self) -> None:
        """End a batch: loads restart, and bounds hold for each batch by itself."""
        if not self.endless:
            self._end_window()
            self._forget()

    def _forget(self) -> None:
        """Forget what was derived from the loads; not every router derives something."""
