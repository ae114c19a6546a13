"""What the log says of lanes and machines, from figures alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trimtab import Histogram, Plan
from trimtab.control.machines import LaneTimes, Machines
from trimtab.spark.lane_report import lane_report

KEYS = Histogram.from_counts({1: 300.0, 2: 10.0}, total=600.0, labels={1: "ann", 2: "bob"})


def times(rows: list[float], seconds: list[float]) -> LaneTimes:
    starts = np.zeros(len(rows))
    return LaneTimes(np.array(rows), starts, np.array(seconds), ("m1/0", "m2/1", "m1/0", ""))


def test_a_hot_key_is_named() -> None:
    plan = Plan(4, {1: 2, 2: 0})
    report = lane_report(times([100, 100, 300, 0], [1, 1, 3, np.nan]), Machines(), plan, KEYS)
    assert json.loads(json.dumps(report)) == report
    assert report["stragglers"] == [
        {
            "lane": 2,
            "seconds": 3.0,
            "over": 1.8,
            "cause": "hot key",
            "executor": "m1/0",
            "key": "ann",
        }
    ]
    assert report["lane_seconds"] == [1.0, 1.0, 3.0, None]
    assert report["lane_executors"] == [0, 1, 0, None]


@pytest.mark.parametrize(
    ("plan", "keys", "name"),
    [
        pytest.param(Plan(4, {1: 2}), KEYS.named("hash"), "0x0000000000000001", id="by its hash"),
        pytest.param(None, KEYS, "ann", id="routers: the hottest of all"),
        pytest.param(Plan(4, {1: 0, 2: 0}), KEYS, None, id="no heavy key is on the lane"),
        pytest.param(None, None, None, id="nothing is known of the keys"),
    ],
)
def test_a_key_is_named_as_it_may_be(
    plan: Plan | None, keys: Histogram | None, name: str | None
) -> None:
    report = lane_report(times([100, 100, 300, 0], [1, 1, 3, np.nan]), Machines(), plan, keys)
    assert report["stragglers"][0]["key"] == name


def test_a_slow_machine_is_told_by_its_address() -> None:
    found = times([100, 100, 100, 0], [1, 3, 1, np.nan])
    report = lane_report(found, Machines().after(found), Plan(4), KEYS)
    (straggler,) = report["stragglers"]
    assert (straggler["cause"], straggler["executor"]) == ("slow machine", "m2/1")
    assert "key" not in straggler
    slowness = {one["executor"]: one["slowness"] for one in report["executors"]}
    assert slowness["m1/0"] == 1.0
    assert slowness["m2/1"] > 1.9


def test_nothing_is_said_of_what_nobody_measured() -> None:
    assert lane_report(None, Machines(), None, None) == {}
