"""Loads as a line of text: one block character per lane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_BLOCKS = "▁▂▃▄▅▆▇█"


def bars(loads: ArrayLike, highest: float | None = None, most: int = 64) -> str:
    """Draw each lane as a block whose height is its load; the full block is `highest`.

    More lanes than `most` are drawn in groups, each by its heaviest lane.

    >>> bars([1, 2, 4, 8])
    '▁▂▄█'
    >>> bars([1, 1, 1, 8, 2, 2], most=3)
    '▁█▂'
    """
    values = np.asarray(loads, dtype=np.float64)
    if values.size > most:
        size = -(-values.size // most)
        values = np.array([values[i : i + size].max() for i in range(0, values.size, size)])
    top = float(values.max(initial=0.0)) if highest is None else highest
    if top <= 0:
        return _BLOCKS[0] * values.size
    steps = np.clip(np.ceil(values / top * len(_BLOCKS)).astype(int) - 1, 0, len(_BLOCKS) - 1)
    return "".join(_BLOCKS[step] for step in steps)
