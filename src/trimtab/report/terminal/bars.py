"""Loads as a line of text: one block character per lane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_BLOCKS = "▁▂▃▄▅▆▇█"


def bars(
    loads: ArrayLike, highest: float | None = None, *, most: int = 64, nothing: str = "·"
) -> str:
    """Draw each lane as a block whose height is its load.

    Parameters
    ----------
    loads
        The load of each lane, 0 or more.
    highest
        The load of a full block; by default the heaviest lane's. Give it where several lines are
        to be compared.
    most
        The longest line. More lanes than this are drawn in groups, each by its heaviest lane.
    nothing
        The character of a lane without load, which a low block would hide.

    Examples
    --------
    >>> bars([1, 2, 0, 8])
    '▁▂·█'
    >>> bars([1, 1, 1, 8, 2, 2], most=3)
    '▁█▂'
    """
    values = np.asarray(loads, dtype=np.float64)
    if values.size > most:
        size = -(-values.size // most)
        values = np.maximum.reduceat(values, np.arange(0, values.size, size))
    top = float(values.max(initial=0.0)) if highest is None else highest
    if top <= 0:
        return nothing * values.size
    steps = np.clip(np.ceil(values / top * len(_BLOCKS)).astype(int), 0, len(_BLOCKS))
    return "".join((nothing + _BLOCKS)[step] for step in steps)
