"""What steering knows comes back from a checkpoint as it was."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab import Histogram, Plan
from trimtab.control.autoscale import AutoScaler
from trimtab.control.machines import LaneTimes
from trimtab.errors import CorruptState
from trimtab.spark.stream.knowledge import Knowledge


def test_all_that_is_known_comes_back() -> None:
    known = Knowledge(scaler=AutoScaler(2, 2), plan=Plan(2, {5: 1}), version=3, rows=70)
    known.history.add(Histogram.from_counts({5: 9.0}))
    times = LaneTimes(np.ones(2), np.zeros(2), np.array([1.0, 2.0]), ("a/0", "b/1"))
    known.machines = known.machines.after(times)
    again = Knowledge.restore(known.state(), "state/1.json")
    assert again.state() == known.state()
    assert again.machines == known.machines


def test_damage_names_the_file() -> None:
    state = Knowledge().state()
    del state["machines"]
    with pytest.raises(CorruptState, match=r"state/1\.json is damaged"):
        Knowledge.restore(state, "state/1.json")
