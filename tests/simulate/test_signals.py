from __future__ import annotations

import numpy as np

from trimtab.control import Delegation
from trimtab.simulate import Signals


def test_a_lane_without_tuples_cannot_speak() -> None:
    signals = Signals(Delegation()).after(np.array([0.1, 0.1]), np.array([1, 0]))
    assert signals.tolist() == [1, 0]


def test_signals_arrive_in_order_after_the_lag() -> None:
    late = Signals(Delegation(), lag=2)
    sent = [np.array([busy]) for busy in (0.1, 0.9, 0.8, 0.8)]
    assert [int(late.after(each, np.ones(1))[0]) for each in sent] == [0, 0, 1, -1]
