"""What steering decides, without a Spark session: it works on histograms and plans alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from trimtab import Histogram, Plan, hash_keys, planner, router
from trimtab.control.autoscale import AutoScaler
from trimtab.control.key_costs import KeySeconds
from trimtab.control.machines import LaneTimes, Machines
from trimtab.control.repartitioner import Repartitioner
from trimtab.errors import InvalidArgument, SplitKeysRefused
from trimtab.metrics import max_over_mean
from trimtab.receive.manifest import BatchManifest, Block
from trimtab.spark.counting.look import Looked
from trimtab.spark.counting.observed import Observed
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.looking import TOLD, Look
from trimtab.spark.stream.received_batch import Newest, Told
from trimtab.spark.stream.scaling import Seconds
from trimtab.spark.stream.steering import Glance, Steering

HOT = Histogram.from_counts({1: 500.0, 2: 100.0}, total=1000.0, distinct=50)


def seen(histogram: Histogram = HOT, plan: Plan | None = None) -> Observed:
    rows = int(histogram.total)
    loads = None if plan is None else plan.loads(histogram)
    return Observed(rows, 0, 0, None, None, None, histogram, loads, None, 8.0)


def unlooked(glance: Glance) -> tuple[Look, Looked]:
    raise AssertionError("nothing was to be looked at")


class Eye:
    """Looks at batches of known keys, and remembers how it was asked to."""

    def __init__(self, histogram: Histogram, seconds: float = 0.1) -> None:
        self.histogram = histogram
        self.seconds = seconds
        self.asked: list[Glance] = []

    def look(self, glance: Glance) -> tuple[Look, Looked]:
        self.asked.append(glance)
        looked = Looked(self.histogram, int(self.histogram.total), exact=True)
        return glance.look.showed(looked, self.seconds), looked


def after(steering: Steering, batches: int) -> tuple[Knowledge, Course]:
    known = steering.start()
    for _ in range(batches):
        course = steering.course(known, unlooked)
        known = steering.learned(known, course, seen(), Seconds(1.0, 1.0))
    return known, steering.course(known, unlooked)


def test_a_planner_plans_from_what_earlier_batches_have_shown() -> None:
    steering = Steering("kip", 4, split=False, look="never")
    first = steering.course(Knowledge(), unlooked)
    assert first.route.plan is not None
    assert len(first.route.plan) == 0
    _, second = after(steering, 1)
    assert second.changed
    assert second.route.plan is not None
    assert 1 in second.route.plan.keys.tolist()


def test_a_plan_that_is_kept_has_moved_nothing() -> None:
    steering = Steering("kip", 4, split=False, look="never")
    known, wanted = after(steering, 1)
    assert wanted.moved > 0
    known.judge = Repartitioner(least_gain=1000.0, move_cost=0.0, memory=1)
    kept = steering.course(known, unlooked)
    assert kept.route.plan == known.plan
    assert (kept.changed, kept.moved) == (False, 0.0)


def test_a_plan_that_follows_routers_is_a_change_even_if_it_is_plain_hashing() -> None:
    known, _ = after(Steering("dalton", 4, split=True, look="never"), 2)
    known.judge = Repartitioner(least_gain=1000.0, move_cost=0.0, memory=1)
    steering = Steering("kip", 4, split=True, look="never")
    course = steering.course(known, unlooked)
    assert (course.changed, course.version) == (True, known.version + 1)
    assert course.reason.startswith("a plan follows routers; ")
    assert not course.routers_go_on
    known = steering.learned(known, course, seen(), Seconds(1.0, 1.0))
    assert not steering.course(known, unlooked).changed


@pytest.mark.parametrize("look", ["auto", "never"])
def test_prompt_counts_the_batch_first_whatever_looks_are_asked_for(look: str) -> None:
    eye = Eye(HOT)
    course = Steering("prompt", 4, split=True, look=look).course(Knowledge(), eye.look)
    assert [(glance.exact, glance.hosts) for glance in eye.asked] == [(True, 4)]
    assert course.route.splits_keys
    assert course.look.taken


@pytest.mark.parametrize("name", ["trim", "kip"])
def test_a_batch_that_is_looked_at_is_level_though_nobody_knew_its_keys(name: str) -> None:
    steering = Steering(name, 4, split=True)
    keys = Histogram.from_counts({k: 1000.0 / k for k in range(1, 60)})
    course = steering.course(Knowledge(), Eye(keys).look)
    assert course.look.taken
    assert course.route.plan is not None
    heaviest = 1.0 if name == "trim" else max(1.0, 4 * float(keys.shares[0]))
    assert max_over_mean(course.route.plan.loads(keys)) <= 1.05 * heaviest


@pytest.mark.parametrize("name", ["am", "cam"])
def test_a_router_of_whole_keys_decides_once_for_all_tasks(name: str) -> None:
    eye = Eye(Histogram.from_counts({k: 1000.0 / k for k in range(1, 60)}))
    steering = Steering(name, 4, split=False, seed=3)
    course = steering.course(Knowledge(), eye.look)
    assert course.route.router is None
    assert course.route.plan == router(name, lanes=4, seed=3).decide(eye.histogram)
    known = steering.learned(
        Knowledge(), course, seen(eye.histogram, course.route.plan), Seconds(1.0, 1.0)
    )
    assert steering.course(known, eye.look).look.taken


def test_keys_that_change_are_looked_at_in_every_batch_and_keys_that_stay_are_not() -> None:
    def run(hottest: list[int]) -> list[bool]:
        steering, known, looks = Steering("trim", 4, split=True), Knowledge(), []
        for key in hottest:
            keys = Histogram.from_counts({key: 400.0, **dict.fromkeys(range(100, 700), 1.0)})
            course = steering.course(known, Eye(keys).look)
            looks.append(course.look.taken)
            assert course.route.plan is not None
            level = max_over_mean(course.route.plan.loads(keys))
            took = Seconds(1.0 + level, 1.0 + level)
            known = steering.learned(known, course, seen(keys, course.route.plan), took)
            known = Knowledge.restore(known.state(), "state/1.json")
        return looks

    assert run([7 * b for b in range(12)]) == [True] * 12
    calm = run([7] * 20)
    assert calm[0]
    assert not any(calm[10:])


def test_a_look_moves_nothing_that_need_not_move() -> None:
    steering = Steering("trim", 4, split=True, look="always")
    keys = Histogram.from_counts({k: 1000.0 / k for k in range(1, 60)})
    first = steering.course(Knowledge(), Eye(keys).look)
    known = steering.learned(Knowledge(), first, seen(keys, first.route.plan), Seconds(1.0, 1.0))
    again = steering.course(known, Eye(keys.scaled(1.01)).look)
    assert (again.changed, again.moved) == (False, 0.0)
    assert again.route.plan == first.route.plan


def test_rows_that_stay_where_they_are_are_not_looked_at() -> None:
    course = Steering("trim", 4, split=True, look="always").course(
        Knowledge(), unlooked, moves_rows=False
    )
    assert not course.look.taken
    assert "where the source has them" in course.look.reason


def test_more_than_a_thousand_keys_are_placed_where_fewer_are_not_level() -> None:
    rng = np.random.default_rng(5)
    keys = Histogram.from_hashes(rng.integers(0, 5_000, 16_000).astype(np.uint64) ** np.uint64(3))
    course = Steering("prompt", 64, split=True).course(Knowledge(), Eye(keys).look)
    assert course.route.plan is not None
    assert len(course.route.plan) > 1000
    assert max_over_mean(course.route.plan.loads(keys)) <= 1.02


def test_a_plan_that_was_given_stays_for_good() -> None:
    plan = Plan(4, {1: 3})
    known, course = after(Steering(plan, 4, split=False), 2)
    assert course.route.plan == plan
    assert (course.version, course.changed) == (1, False)
    assert known.plan == plan


def test_a_router_that_was_given_is_what_tasks_start_from() -> None:
    learned = router("pkg", lanes=4, seed=5)
    learned.route(hash_keys(list("aaabbbccc")))
    _, course = after(Steering(learned, 4, split=True), 1)
    assert course.route.router is learned
    assert course.route.router.loads().sum() == 9


def test_a_name_takes_parameters_and_streams_have_settings_of_their_own() -> None:
    course = Steering("dalton", 4, split=True, parameters={"heat": 0.5}, seed=3).course(
        Knowledge(), Eye(HOT).look
    )
    assert course.route.router is not None
    made = course.route.router.parameters()
    assert (made["heat"], made["cooperate"], made["slides"], made["seed"]) == (0.5, True, 1, 3)


def test_routers_that_heed_the_keys_of_a_batch_are_told_them() -> None:
    eye = Eye(HOT)
    course = Steering("dalton", 4, split=True).course(Knowledge(), eye.look)
    assert [glance.exact for glance in eye.asked] == [False]
    assert "told the batch's own keys" in course.look.reason
    assert course.route.histogram is not None
    assert course.route.histogram.hashes.tolist() == HOT.hashes.tolist()


@pytest.mark.parametrize(
    ("name", "options", "moves_rows", "words"),
    [
        pytest.param("pkg", {}, True, "as rows come", id="routers that do not heed them"),
        pytest.param("dalton", {"look": "never"}, True, "no batch", id="looks are not wanted"),
        pytest.param("dalton", {}, False, "where the source has them", id="rows do not move"),
    ],
)
def test_routers_are_not_told_where_it_is_no_use(
    name: str, options: dict[str, str], moves_rows: bool, words: str
) -> None:
    steering = Steering(name, 4, split=True, **options)
    course = steering.course(Knowledge(), unlooked, moves_rows=moves_rows)
    assert course.route.histogram is None
    assert words in course.look.reason


@pytest.mark.parametrize(
    ("given", "options", "error", "words"),
    [
        pytest.param("pkg", {}, SplitKeysRefused, "every key in one place", id="it splits"),
        pytest.param(planner("kip", lanes=3), {}, InvalidArgument, "3 lanes", id="other lanes"),
        pytest.param("kip", {"parameters": {"x": 1}}, InvalidArgument, "'x'", id="no such one"),
        pytest.param(
            Plan(4), {"scaler": AutoScaler(map_tasks=4, reduce_tasks=4)}, InvalidArgument, "by name"
        ),
        pytest.param(
            router("ch", lanes=4), {"parameters": {"seed": 1}}, InvalidArgument, "go with a name"
        ),
    ],
)
def test_what_is_refused_is_refused_at_the_call(
    given: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        Steering(given, 4, split=False, **options)


def test_lanes_follow_the_scaler() -> None:
    scaler = AutoScaler(map_tasks=4, reduce_tasks=2)
    steering = Steering("trim", 4, split=True, scaler=scaler, look="never")
    known = steering.start()
    assert steering.course(known, unlooked).reduce_tasks == 2
    assert known.scaler is not None
    known.scaler.map_tasks = 6
    course = steering.course(known, unlooked)
    assert course.route.lanes == 6
    assert course.route.plan is not None
    assert course.route.plan.lanes == 6


def test_a_plan_without_heavy_keys_runs_on_like_any_other() -> None:
    steering = Steering("kip", 4, split=False, look="never")
    level = Histogram(np.zeros(0, dtype=np.uint64), np.zeros(0), 4000.0, 400)
    hosts = Plan(4, hosts=[3, 2, 1, 0])
    known = steering.start()
    known.plan, known.version = hosts, 1
    known.history.add(level)
    assert steering.course(known, unlooked).route.plan == hosts


def test_where_keys_have_state_a_look_is_weighed_against_what_it_would_move() -> None:
    free = Steering("kip", 4, split=False, look="always")
    dear = Steering("kip", 4, split=False, look="always", judge={"horizon": 0.001})
    for steering, changed in ((free, True), (dear, False)):
        known = steering.start()
        known.plan, known.version = Plan(4), 1
        assert steering.course(known, Eye(HOT).look).changed == changed


def test_what_was_measured_and_what_was_set_both_hold_after_a_restart() -> None:
    steering = Steering("kip", 4, split=False, look="never", judge={"horizon": 3.0})
    known = steering.start()
    course = steering.course(known, unlooked)
    known = steering.learned(known, course, seen(), Seconds(1.0, 1.0), (500, 0.25))
    again = Steering("kip", 4, split=False, look="never", judge={"budget": 0.5})
    judge = again.as_set(Knowledge.restore(known.state(), "state")).judge
    assert (judge.keys, judge.move_cost, judge.budget, judge.horizon) == (500, 0.25, 0.5, 10.0)


def test_plans_follow_seconds_where_a_function_takes_longer_for_some_keys() -> None:
    keys = Histogram.from_counts(dict.fromkeys(range(16), 100.0))
    # Four keys take nine tenths of the time; by rows they would share a lane.
    seconds = np.where(np.arange(16) % 4 == 0, 0.9, 1 / 30)
    spent = KeySeconds(keys.hashes, keys.weights, seconds, 1600.0, float(seconds.sum()))
    work = Histogram.from_counts((keys.hashes, seconds))

    def level(look: str, weigh_by: str) -> tuple[float, str]:
        steering = Steering("trim", 4, split=False, look=look, judge={}, weigh_by=weigh_by)
        known = steering.start()
        for _ in range(3):
            course = steering.course(known, Eye(keys).look)
            plan = course.route.plan
            known = steering.learned(
                known, course, seen(keys, plan), Seconds(9.0, 9.0), spent=spent
            )
            known = steering.as_set(Knowledge.restore(known.state(), "state"))
        course = steering.course(known, Eye(keys).look)
        assert course.route.plan is not None
        return max_over_mean(course.route.plan.loads(work)), course.weighed_by

    for look in ("always", "never"):
        found, by = level(look, "auto")
        assert (by, found < 1.05) == ("seconds", True), look
        found, by = level(look, "rows")
        assert (by, found > 2.0) == ("rows", True), look


def test_what_keys_are_weighed_by_is_checked() -> None:
    with pytest.raises(InvalidArgument, match="weigh_by"):
        Steering("trim", 4, split=False, weigh_by="minutes")


SLOW = LaneTimes(
    np.full(12, 1500.0),
    np.zeros(12),
    np.array([1.5] * 8 + [5.0] * 4),
    tuple("abc"[lane // 4] for lane in range(12)),
)
"""Three machines of four slots, one of them slow."""


@pytest.mark.parametrize(
    ("given", "options", "lanes"),
    [
        pytest.param("trim", {"auto": True}, 20, id="two sizes of lanes where machines differ"),
        pytest.param("mixed", {"auto": True}, 28, id="more lanes of one size"),
        pytest.param("trim", {}, 12, id="a number that was given stays"),
        pytest.param("pkg", {"auto": True}, 12, id="routers keep their lanes"),
        pytest.param(Plan(12), {"auto": True}, 12, id="a plan was made for its lanes"),
    ],
)
def test_lanes_follow_machines_only_where_they_may(
    given: Any, options: dict[str, Any], lanes: int
) -> None:
    steering = Steering(given, 12, split=given != "mixed", **options)
    known = Knowledge()
    for _ in range(3):
        course = steering.course(known, Eye(HOT).look, slots=12)
        known = steering.learned(known, course, None, Seconds(5.0, 5.0), times=SLOW)
    course = steering.course(known, Eye(HOT).look, slots=12)
    assert course.route.lanes == lanes
    assert ("slowest c" in course.scaling) == (lanes > 12)
    assert len(course.shares) == (20 if lanes == 20 else 0)
    # Before anything was measured there is one lane for each slot.
    assert steering.course(Knowledge(), Eye(HOT).look, slots=12).route.lanes == 12


@pytest.mark.parametrize(
    ("given", "first"),
    [
        pytest.param("mixed", 0, id="of equal lanes"),
        # The first lane of a slot may be that of a slow one: who comes for a second one is not.
        pytest.param("trim", 12, id="of those that are not for the slowest"),
    ],
)
def test_the_heaviest_of_many_lanes_comes_first(given: str, first: int) -> None:
    steering = Steering(given, 12, split=False, auto=True)
    known = Knowledge(machines=Machines().after(SLOW).after(SLOW))
    course = steering.course(known, Eye(HOT).look, slots=12)
    assert course.route.plan is not None
    assert course.route.lanes > 12
    assert np.argmax(course.route.plan.loads(HOT)) == first


def test_lanes_of_several_sizes_stay_over_a_restart_and_go_when_machines_are_alike() -> None:
    steering = Steering("trim", 12, split=True, look="always", auto=True)
    keys = Histogram.from_counts(dict.fromkeys(range(1, 2000), 10.0))
    known, shares = Knowledge(), []
    for batch in range(8):
        course = steering.course(known, Eye(keys).look, slots=12)
        # A batch that runs again is levelled, and judged, as it was.
        course = Course.from_record(course.to_record(), "plans/1.json")
        plan = course.route.plan
        assert plan is not None
        loads = plan.loads(keys)
        slow = 3.3 if batch < 4 else 1.0
        times = worked(loads, slow)
        known = steering.learned(known, course, seen(keys, plan), Seconds(1.0, 1.0), times=times)
        known = Knowledge.restore(known.state(), "state/1.json")
        shares.append(course.shares)
        if course.shares:
            assert max_over_mean(loads, course.shares) < 1.05
    assert shares[0] == ()
    assert shares[1] == shares[2] == shares[3] != ()
    assert shares[-1] == shares[-2] == ()


@pytest.mark.parametrize("other", ["readj", "hash", "pkg"])
def test_a_query_with_lanes_of_several_sizes_goes_on_with_a_partitioner_of_equal_lanes(
    other: str,
) -> None:
    known = Knowledge(machines=Machines().after(SLOW).after(SLOW))
    before = Steering("trim", 12, split=True, auto=True)
    course = before.course(known, Eye(HOT).look, slots=12)
    assert course.shares
    after = Steering(other, 12, split=True, auto=True)
    # A batch of which the course was recorded before the restart, and the first one after it.
    known = after.learned(known, course, None, Seconds(5.0, 5.0), times=SLOW)
    assert after.course(known, Eye(HOT).look, slots=12).shares == ()


def worked(loads: np.ndarray, slow: float) -> LaneTimes:
    """Let four slots on each of three machines work on lanes, a millisecond for each row."""
    free = [(0.0, name) for name in "abc" for _ in range(4)]
    starts, ends, names = np.zeros(loads.size), np.zeros(loads.size), []
    for lane, load in enumerate(loads.tolist()):
        at, name = min(free)
        free.remove((at, name))
        starts[lane], ends[lane] = at, at + load * 1e-3 * (slow if name == "c" else 1.0)
        names.append(name)
        free.append((float(ends[lane]) + 0.1, name))
    return LaneTimes(loads, starts, ends, tuple(names))


def test_what_older_versions_have_written_knows_no_sizes_of_lanes() -> None:
    known, course = after(Steering("trim", 4, split=True, look="never"), 2)
    state, record = known.state(), course.to_record()
    del state["shares"], record["shares"]
    assert Knowledge.restore(state, "state/1.json").shares == ()
    assert Course.from_record(record, "plans/1.json").shares == ()


def test_speeds_that_were_given_keep_the_number_of_lanes() -> None:
    speeds = {"capacities": [1.0] * 8 + [0.3] * 4}
    steering = Steering("trim", 12, split=True, parameters=speeds, auto=True)
    known = Knowledge(machines=Machines().after(SLOW).after(SLOW))
    assert steering.course(known, Eye(HOT).look, slots=12).route.lanes == 12


def test_state_is_moved_to_more_lanes_only_for_much() -> None:
    mild = replace(SLOW, ends=np.array([1.5] * 8 + [1.9] * 4))
    known = Knowledge(plan=Plan(12), version=1, machines=Machines().after(mild).after(mild))
    keeps = Steering("trim", 12, split=False, auto=True, judge={})
    assert keeps.course(known, Eye(HOT).look, slots=12).route.lanes == 12
    known = replace(known, machines=Machines().after(SLOW).after(SLOW))
    assert keeps.course(known, Eye(HOT).look, slots=12).route.lanes > 12


def test_shares_follow_measured_speeds() -> None:
    steering = Steering(
        "trim", 4, split=True, parameters={"capacities": "measured"}, look="always", auto=True
    )
    keys = Histogram.from_counts(dict.fromkeys(range(1, 400), 10.0))
    known, moved = Knowledge(), []
    for _ in range(5):
        course = steering.course(known, Eye(keys).look, slots=4)
        plan = course.route.plan
        assert plan is not None
        loads = plan.loads(keys)
        moved.append(course.moved)
        # The last lane needs three times as long for a row.
        took = loads * [1.0, 1.0, 1.0, 3.0]
        times = LaneTimes(loads, np.zeros(4), took, ("a/0", "b/1", "c/2", "d/3"))
        known = steering.learned(known, course, seen(keys, plan), Seconds(1.0, 1.0), times=times)
        known = Knowledge.restore(known.state(), "state/1.json")
    assert course.route.lanes == 4
    assert took.max() / took.mean() < 1.1
    assert "measured speeds" in course.scaling
    # It comes to rest.
    assert moved[1] > 0.1
    assert moved[-2:] == [0.0, 0.0]


def test_measured_speeds_need_a_planner_that_heeds_them() -> None:
    with pytest.raises(InvalidArgument, match="capacities"):
        Steering("readj", 4, split=False, parameters={"capacities": "measured"})


def told(histogram: Histogram = HOT) -> Told:
    """Return what a receiver tells of a batch that it has laid out on two blocks."""
    plan = planner("prompt", lanes=2).plan(histogram)
    sizes = plan.loads(histogram).round().astype(int).tolist()
    blocks = tuple(Block(f"{n}.arrow", rows, 0, 0, "r", n) for n, rows in enumerate(sizes))
    texts = (histogram.to_json(), plan.to_json())
    manifest = BatchManifest(0, blocks, sum(sizes), *texts, None, 0.0, 0.9, 1.0, {})
    return Told(histogram, [manifest], [0], np.array(sizes), {"log": Newest(0, sum(sizes))})


def test_rows_that_need_not_move_stay_in_the_blocks_of_a_receiver() -> None:
    for given in ("trim", "prompt"):
        course = Steering(given, 4, split=True).course(
            Knowledge(), unlooked, moves_rows=False, told=told()
        )
        assert (course.route.lanes, course.route.plan) == (2, told().plan)
        assert sum(course.blocks) == 1000
        known = Steering(given, 4, split=True).learned(
            Knowledge(), course, seen(), Seconds(1.0, 1.0)
        )
        assert known.plan == told().plan


def test_rows_that_move_are_planned_from_what_a_receiver_has_counted() -> None:
    course = Steering("trim", 4, split=False).course(Knowledge(), unlooked, told=told())
    assert (course.look.how, course.look.rows, course.blocks) == (TOLD, 1000, ())
    assert course.route.plan is not None
    assert course.route.lanes == 4
    assert 1 in course.route.plan.keys.tolist()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("pkg", id="routers decide as rows come"),
        pytest.param(planner("trim", lanes=4), id="the planner was made for its lanes"),
        pytest.param("hash", id="no keys are asked for"),
    ],
)
def test_a_partitioner_that_was_asked_for_is_used_whatever_the_receiver_did(given: Any) -> None:
    course = Steering(given, 4, split=True).course(
        Knowledge(), unlooked, moves_rows=False, told=told()
    )
    assert (course.route.lanes, course.blocks) == (4, ())
