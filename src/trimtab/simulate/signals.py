"""Signals of the lanes on their way back to the sources: late, and only where a tuple went."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import whole
from trimtab.control.delegation import Delegation


class Signals:
    """Carry what the lanes say back with acknowledgements, after a number of time slots.

    Parameters
    ----------
    delegation
        Turns what a lane measured into its signal.
    lag
        Time slots until a signal reaches the sources, 0 or more.

    Examples
    --------
    >>> late = Signals(Delegation(), lag=1)
    >>> late.after(np.array([0.1, 0.9]), acknowledged=np.array([5, 5])).tolist()
    [0, 0]
    >>> late.after(np.array([0.8, 0.8]), acknowledged=np.array([5, 5])).tolist()
    [1, -1]

    References
    ----------
    Consistent Grouping, Section 5.3: signals are piggybacked on acknowledgements.
    """

    def __init__(self, delegation: Delegation, lag: int = 0) -> None:
        self.delegation = delegation
        self.lag = whole("lag", lag, 0)
        self._under_way: deque[NDArray[np.int8]] = deque()

    def after(
        self, utilisation: NDArray[np.float64], acknowledged: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        """Take what a slot measured, and return the signals that arrive now.

        A lane that got no tuple in the slot has no acknowledgement to send its signal with.
        """
        signals = self.delegation.signals(utilisation)
        signals[acknowledged == 0] = 0
        self._under_way.append(signals)
        if len(self._under_way) <= self.lag:
            return np.zeros_like(signals)
        return self._under_way.popleft()
