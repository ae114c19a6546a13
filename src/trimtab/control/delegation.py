"""Worker delegation: each lane says for itself whether it wants more work or less."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab._checks import real
from trimtab.errors import InvalidArgument


class Delegation:
    """Turn what the lanes measured in a time slot into the signals that `cg` takes.

    A lane signals -1 (decrease) if `utilisation > busy`, +1 (increase) if `utilisation < idle`, and
    0 in between. It needs no knowledge of other lanes, so each can decide where it runs.

    Parameters
    ----------
    busy
        Utilisation above which a lane is busy, above `idle`. Raising it lets queues grow longer
        before anything moves.
    idle
        Utilisation below which a lane is idle, 0 or more. Raising it towards `busy` brings the
        lanes closer together and moves virtual workers more often.

    Examples
    --------
    >>> Delegation().signals([0.2, 0.8, 1.3]).tolist()
    [1, 0, -1]
    >>> Delegation().signals([10, 90], capacities=[100, 100]).tolist()
    [1, -1]

    References
    ----------
    Consistent Grouping, Section 5.3 (worker delegation), Sections 3 and 7.1 (utilisation), Section
    7.2 (the thresholds).

    Notes
    -----
    One call is one time slot: the lanes measured since the last call, and will not be asked again
    before the routing has had time to work. A lane of k virtual workers comes to rest if one of
    them weighs less than the band: `utilisation / k < busy - idle`. The paper divides the
    thresholds by the capacity once more, after utilisation has been divided by it; we take that as
    a slip.
    """

    def __init__(self, busy: float = 0.85, idle: float = 0.75) -> None:
        self.busy = real("busy", busy, 0, low_open=True)
        self.idle = real("idle", idle, 0)
        if self.idle >= self.busy:
            raise InvalidArgument(
                f"idle must be below busy; got idle={idle!r} and busy={busy!r}; leave a band "
                "between them in which a lane is content"
            )

    def signals(self, measured: ArrayLike, capacities: ArrayLike | None = None) -> NDArray[np.int8]:
        """Return each lane's signal from its utilisation.

        With `capacities`, what was measured is taken as load, for instance as queue length, and
        divided by the lane's capacity in the same unit.
        """
        utilisation = _measurements("measured", measured)
        if capacities is not None:
            room = _measurements("capacities", capacities)
            if room.shape != utilisation.shape or not room.all():
                raise InvalidArgument(
                    f"capacities must be {utilisation.size} positive numbers, one per lane; got "
                    f"{capacities!r}"
                )
            utilisation = utilisation / room
        signals = np.zeros(utilisation.size, dtype=np.int8)
        signals[utilisation < self.idle] = 1
        signals[utilisation > self.busy] = -1
        return signals


def _measurements(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any():
        raise InvalidArgument(f"{name} must be numbers >= 0, one per lane; got {value!r}")
    return array
