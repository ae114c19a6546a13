"""Rebuilding a key table inside a kernel, after some of its keys have been given up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._kernel import kernel
from trimtab._table import locate


@kernel
def reindex(
    table_keys: NDArray[np.uint64],
    table_slots: NDArray[np.int32],
    keys: NDArray[np.uint64],
    held: int,
) -> None:
    """Let the table hold exactly the first `held` keys, each with its place as its slot."""
    table_slots[:] = -1
    for slot in range(held):
        at = locate(table_keys, table_slots, keys[slot])
        table_keys[at] = keys[slot]
        table_slots[at] = slot
