"""Worker delegation that comes to rest: signals only where handing over is expected to help."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import lane_count, real
from trimtab._format import Format
from trimtab.control.delegation import Delegation
from trimtab.errors import CorruptState, InvalidArgument

_FORMAT = Format("trimtab.delegation", 1, "the state of a delegation")


class SteadyDelegation:
    """Turn the seconds that lanes took into signals for `cg`, and stop when all is well.

    `Delegation` looks at one lane and one time slot: where a virtual worker weighs more than the
    band between the thresholds, a lane that gives one becomes idle, asks for it back, and so on for
    ever. This one knows how many virtual workers each lane has, and so what one of them costs
    there: `cost = seconds / workers`, smoothed from slot to slot. A busy lane signals -1, and the
    lane that would be done first with one more signals +1, only if that lane would still be done
    earlier than the busy one is now, by `least_gain` at least. Every such step makes the pair
    better, so that steps end.

    Parameters
    ----------
    lanes
        Number of lanes, 1 or more.
    busy, idle
        The thresholds of `Delegation`. A lane that takes as long as the mean lane has a utilisation
        in the middle between them.
    newest
        Weight of the newest slot, in (0, 1]. Lowering it hears less noise, and later.
    least_gain
        By which share of the busy lane's time the other must be done earlier, in [0, 1). Raising it
        rests sooner, and less level; noise should be below it.

    Examples
    --------
    Of two lanes with ten virtual workers each, one needs three times as long:

    >>> loop = SteadyDelegation(2)
    >>> workers, path = np.array([10, 10]), []
    >>> for _ in range(8):
    ...     signals = loop.signals(workers * [1.0, 3.0], workers)
    ...     workers = workers + signals
    ...     path.append(workers.tolist())
    >>> path[0], path[4], path[-1]
    ([11, 9], [15, 5], [15, 5])

    References
    ----------
    Consistent Grouping, Sections 5.2 and 5.3. The paper's workers decide alone, from their own
    queue; here the driver has heard all of them before it decides.
    """

    def __init__(
        self,
        lanes: int,
        busy: float = 0.85,
        idle: float = 0.75,
        newest: float = 0.5,
        least_gain: float = 0.08,
    ) -> None:
        self.lanes = lane_count(lanes)
        self.thresholds = Delegation(busy, idle)
        self.newest = real("newest", newest, 0, 1, low_open=True)
        self.least_gain = real("least_gain", least_gain, 0, 1, high_open=True)
        self._costs: NDArray[np.float64] | None = None

    def signals(self, seconds: ArrayLike, workers: ArrayLike) -> NDArray[np.int8]:
        """Return each lane's signal after a time slot: as many ask for more as for less.

        Parameters
        ----------
        seconds
            What each lane took; NaN where nobody has measured it.
        workers
            The virtual workers that it had.
        """
        took = np.asarray(seconds, dtype=np.float64)
        had = np.asarray(workers, dtype=np.float64)
        if took.shape != (self.lanes,) or had.shape != (self.lanes,) or (had < 1).any():
            raise InvalidArgument(
                f"give seconds and virtual workers, 1 or more, of {self.lanes} lanes; got "
                f"{seconds!r} and {workers!r}"
            )
        costs = self._smoothed(took / had)
        wishes = np.zeros(self.lanes, dtype=np.int8)
        if costs is None or not costs.mean() > 0:
            return wishes
        loads = had * costs
        middle = (self.thresholds.busy + self.thresholds.idle) / 2
        busy = self.thresholds.signals(middle * loads / loads.mean()) == -1
        for giver in np.argsort(-loads, kind="stable"):
            if not busy[giver] or had[giver] < 2:
                continue
            after = np.where(wishes == 0, loads + costs, np.inf)
            after[giver] = np.inf
            taker = int(np.argmin(after))
            if after[taker] < loads[giver] * (1 - self.least_gain):
                wishes[giver], wishes[taker] = -1, 1
        return wishes

    def _smoothed(self, costs: NDArray[np.float64]) -> NDArray[np.float64] | None:
        known = np.isfinite(costs)
        if self._costs is None:
            if not known.any():
                return None
            # A lane that was not measured yet is taken for one in the middle.
            self._costs = np.where(known, costs, np.median(costs[known]))
        else:
            mixed = (1 - self.newest) * self._costs + self.newest * costs
            self._costs = np.where(known, mixed, self._costs)
        return self._costs

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            **_FORMAT.head(),
            "parameters": {
                "lanes": self.lanes,
                "busy": self.thresholds.busy,
                "idle": self.thresholds.idle,
                "newest": self.newest,
                "least_gain": self.least_gain,
            },
            "costs": None if self._costs is None else self._costs.tolist(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Read what `state` returned."""
        _FORMAT.check(state, "the given state")
        try:
            made = cls(**state["parameters"])
            if state["costs"] is not None:
                made._costs = np.array(state["costs"], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(f"the state of a delegation is damaged: {error}") from error
        if made._costs is not None and made._costs.shape != (made.lanes,):
            raise CorruptState(f"the state of a delegation has no costs of {made.lanes} lanes")
        return made
