"""The highest rate that a cluster can keep up with, by search."""

from __future__ import annotations

from collections.abc import Callable

from trimtab._checks import real
from trimtab.errors import InvalidArgument


def highest_rate(
    keeps_up: Callable[[float], bool], start: float, *, within: float = 0.01, most: float = 1e12
) -> float:
    """Return the highest rate at which `keeps_up(rate)` holds, to a relative error of `within`.

    The rate is doubled until it is too much, or halved until it is not; then the interval is
    halved. `keeps_up` should run the stream at that rate: what holds at a rate should hold below.

    Parameters
    ----------
    keeps_up
        Whether the cluster keeps up with a rate, in tuples per second.
    start
        A rate to begin with, above 0.
    within
        Relative error, above 0.
    most
        Where to give up: a cluster without a limit is a mistake of the model.

    Examples
    --------
    >>> round(highest_rate(lambda rate: rate <= 1234.0, start=10.0, within=1e-4))
    1234
    """
    real("start", start, 0, low_open=True)
    real("within", within, 0, low_open=True)
    low, high = 0.0, start
    while keeps_up(high):
        low, high = high, 2.0 * high
        if high > most:
            raise InvalidArgument(
                f"the cluster keeps up with any rate up to {most:g} tuples per second; give it "
                "lanes, stages or reducers that take time"
            )
    while low == 0.0:
        trial = high / 2.0
        if trial < start * 1e-9:
            return 0.0
        if keeps_up(trial):
            low = trial
        else:
            high = trial
    while high - low > within * low:
        trial = (low + high) / 2.0
        if keeps_up(trial):
            low = trial
        else:
            high = trial
    return low
