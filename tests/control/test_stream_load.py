"""What the autoscaler hears of triggers: late ones, idle ones, work that asks for a jump."""

from __future__ import annotations

import pytest

from trimtab.control.autoscale import AutoScaler
from trimtab.control.stream_load import Trigger, observe_trigger
from trimtab.errors import InvalidArgument


def test_a_batch_that_grew_because_the_one_before_was_late_is_no_higher_rate() -> None:
    scaler = AutoScaler(4, 4, batches=1)
    steady = [Trigger(float(at), at + 0.85, 1000, 10) for at in range(5)]
    before = None
    for trigger in steady:
        decision = observe_trigger(scaler, trigger, 1.0, before)
        before = trigger.started
    assert decision.zone == 2
    # One hiccup of two seconds, then batches of what has piled up meanwhile.
    hiccup = Trigger(5.0, 7.0, 1000, 10)
    observe_trigger(scaler, hiccup, 1.0, before)
    tasks = (scaler.map_tasks, scaler.reduce_tasks)
    catching_up = Trigger(7.0, 8.7, 2000, 10)
    decision = observe_trigger(scaler, catching_up, 1.0, hiccup.started)
    assert decision.zone == 2
    assert (decision.map_tasks, decision.reduce_tasks) == tasks


def test_the_whole_trigger_counts() -> None:
    scaler = AutoScaler(4, 4, batches=1)
    assert observe_trigger(scaler, Trigger(0.0, 0.95, 1000, 10), 1.0, None).zone == 3


def test_triggers_without_rows_count() -> None:
    scaler = AutoScaler(4, 4, batches=3)
    observe_trigger(scaler, Trigger(0.0, 0.85, 1000, 10), 1.0, None)
    # Nothing came for four triggers; the scaler gives tasks back.
    observe_trigger(scaler, Trigger(5.0, 5.85, 1000, 10), 1.0, 0.0)
    assert scaler.map_tasks < 4


def test_a_late_batch_is_not_taken_for_idle_triggers() -> None:
    scaler = AutoScaler(4, 4, batches=1)
    observe_trigger(scaler, Trigger(0.0, 3.0, 1000, 10), 1.0, None)
    tasks = scaler.map_tasks
    assert observe_trigger(scaler, Trigger(3.0, 6.0, 3000, 10), 1.0, 0.0).map_tasks >= tasks


@pytest.mark.parametrize(
    ("fullest", "tasks"),
    [pytest.param(1.0, 22, id="level lanes"), pytest.param(1.5, 32, id="one lane is fuller")],
)
def test_it_jumps_to_what_the_work_asks_for(fullest: float, tasks: int) -> None:
    scaler = AutoScaler(4, 4, batches=1)
    # 16 s of work in 0.85 s, of which 0.1 s are not for lanes.
    longest = 4.0 * fullest
    trigger = Trigger(0.0, longest + 0.1, 1000, 10, 16.0, fullest, longest)
    assert observe_trigger(scaler, trigger, 1.0, None).map_tasks == tasks


def test_a_steady_overload_is_met_in_one_step() -> None:
    scaler = AutoScaler(4, 4, batches=1)
    trigger = Trigger(0.0, 4.1, 1000, 10, work=16.0, fullest=1.0, longest=4.0)
    decision = observe_trigger(scaler, trigger, 1.0, None)
    # 16 s of work in 0.85 s, of which 0.1 s are not for lanes.
    assert decision.map_tasks == 22
    assert "18 more map tasks, as the measured work asks for" in decision.reason
    # And back, once there is little to do.
    quiet = AutoScaler(22, 4, batches=1)
    calm = Trigger(0.0, 0.2, 10, 10, work=1.0, fullest=1.0, longest=0.1)
    # As long as all of the trigger might be work on lanes, no fewer than 22 x 0.2 / 0.9.
    assert observe_trigger(quiet, calm, 1.0, None).map_tasks == 5


def test_where_lanes_are_not_what_takes_long_nothing_jumps() -> None:
    scaler = AutoScaler(4, 4, batches=1)
    trigger = Trigger(0.0, 4.0, 1000, 10, work=0.4, fullest=1.0, longest=0.1)
    assert observe_trigger(scaler, trigger, 1.0, None).map_tasks == 5


def test_the_interval_is_checked() -> None:
    with pytest.raises(InvalidArgument, match="interval"):
        observe_trigger(AutoScaler(1, 1), Trigger(0.0, 1.0, 1, 1), 0.0, None)
