"""How many tuples arrive in each time slot: constant, sinusoidal, in bursts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab._checks import real, seed_number, whole


def constant_rate(slots: int, rate: float) -> NDArray[np.int64]:
    """Return `rate` tuples for every slot."""
    return np.full(whole("slots", slots, 0), round(real("rate", rate, 0)), dtype=np.int64)


def sinusoidal_rate(
    slots: int, rate: float, swing: float = 0.5, period: float = 20.0
) -> NDArray[np.int64]:
    """Return `rate x (1 + swing sin(2 pi t / period))` tuples for slot t; its mean is `rate`.

    >>> sinusoidal_rate(4, 100, swing=0.5, period=4).tolist()
    [100, 150, 100, 50]
    """
    phases = (
        2 * np.pi * np.arange(whole("slots", slots, 0)) / real("period", period, 0, low_open=True)
    )
    swing = real("swing", swing, 0, 1)
    tuples = np.rint(real("rate", rate, 0) * (1 + swing * np.sin(phases)))
    return np.asarray(tuples, dtype=np.int64)


def bursty_rate(
    slots: int, rate: float, share: float = 0.1, height: float = 5.0, seed: int = 0
) -> NDArray[np.int64]:
    """Return a rate that is `height` times as high in a `share` of the slots; its mean is `rate`.

    >>> burst = bursty_rate(1000, 100, share=0.1, height=5.0, seed=1)
    >>> sorted(set(burst.tolist()))
    [71, 357]
    """
    share, height = real("share", share, 0, 1), real("height", height, 1)
    calm = real("rate", rate, 0) / (1 + share * (height - 1))
    high = np.random.default_rng(seed_number(seed)).random(whole("slots", slots, 0)) < share
    return np.rint(np.where(high, height * calm, calm)).astype(np.int64)


def instants(count: int, swing: float, phase: float) -> NDArray[np.float64]:
    """Return when tuples arrive inside an interval whose rate is `1 + swing sin(phase + 2 pi t)`.

    The instants are parts of the interval, in [0, 1), and rise.

    >>> instants(4, swing=0.0, phase=0.0).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    grid = np.linspace(0.0, 1.0, 1025)
    rate = 1 + real("swing", swing, 0, 1) * np.sin(phase + 2 * np.pi * grid)
    passed = np.concatenate(([0.0], np.cumsum((rate[1:] + rate[:-1]) / 2)))
    wanted = np.arange(count) / max(1, count) * passed[-1]
    found = np.interp(wanted, passed, grid)
    return np.asarray(np.minimum(found, np.nextafter(1.0, 0.0)), dtype=np.float64)
