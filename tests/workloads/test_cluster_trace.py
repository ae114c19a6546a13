from __future__ import annotations

import numpy as np
import pytest

from trimtab.errors import InvalidArgument
from trimtab.workloads.cluster_trace import TaskEvents

EVENTS = TaskEvents(tail=1.6, most_tasks=10**9, events_per_second=2.0).events(300_000, seed=1)


def test_events_give_back_the_parameters() -> None:
    sizes = np.bincount(EVENTS["job"])
    # Hill's estimate of the tail from jobs of ten tasks and more, sizes being rounded down.
    large = sizes[sizes >= 10] + 0.5
    assert 1 / np.log(large / 10.0).mean() == pytest.approx(1.6, rel=0.1)
    first = np.unique(EVENTS["job"], return_index=True)[1]
    shares = np.bincount(EVENTS["scheduling_class"][first]) / first.size
    assert shares.tolist() == pytest.approx([0.42, 0.3, 0.2, 0.08], abs=0.01)
    assert 300_000 / EVENTS["time"][-1] == pytest.approx(2.0, rel=0.02)


def test_a_job_has_one_class_and_one_request() -> None:
    jobs = np.unique(EVENTS["job"]).size
    assert np.unique(np.stack([EVENTS["job"], EVENTS["cpu"]]), axis=1).shape[1] == jobs


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="add up to 1"):
        TaskEvents(classes=(0.5, 0.6))
