"""The capacity of bounded loads: a little above the mean, and rising with it."""

from __future__ import annotations

import math

import numpy as np

from trimtab._kernel import inline
from trimtab._parameters import Parameter, Real

EPSILON = Parameter(
    "epsilon", 0.01, Real(0), "room above the mean; more splits fewer keys, less level"
)


@inline
def capacity_after(capacity: np.int64, total: int, epsilon: float, bins: int) -> np.int64:
    """Return `ceil((1 + epsilon) x total / bins)`, knowing the capacity of a smaller total."""
    bound = (1.0 + epsilon) * total / bins
    if bound > capacity:
        return np.int64(math.ceil(bound))
    return capacity
