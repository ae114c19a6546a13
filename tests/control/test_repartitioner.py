from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from trimtab import Histogram, Plan, planner
from trimtab._kernel import mix64
from trimtab.control.repartitioner import Decision, Repartitioner
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.metrics import max_over_mean
from trimtab.workloads import zipf_ids

LANES = 16
HASHES = np.array([mix64(np.uint64(i + 1)) for i in range(10_000)], dtype=np.uint64)


def batch(number: int, *, law: int = 0, rows: int = 100_000, z: float = 1.0) -> Histogram:
    """Return the histogram of one batch; `law` says which keys are the hot ones."""
    ids = zipf_ids(rows, 10_000, z, seed=1000 * law)
    rows_of_batch = np.random.default_rng(number).choice(ids, rows)
    return Histogram.from_hashes(HASHES[rows_of_batch], top=200, hosts=64 * LANES)


def follow(
    judge: Repartitioner, batches: list[Histogram], maker: str = "trim"
) -> tuple[list[Decision], list[float]]:
    """Plan after every batch, decide, and say how level each batch ran."""
    running, decisions, level = Plan(LANES), [], []
    for histogram in batches:
        level.append(max_over_mean(running.loads(histogram)))
        candidate = planner(maker, lanes=LANES).plan(histogram, running)
        decisions.append(judge.decide(running, candidate, histogram))
        running = decisions[-1].plan
    return decisions, level


@pytest.mark.parametrize("rows", [3_000, 100_000])
def test_a_stationary_stream_settles_after_a_few_batches(rows: int) -> None:
    decisions, level = follow(Repartitioner(), [batch(i, rows=rows) for i in range(12)])
    assert decisions[0].change
    assert not any(d.change for d in decisions[3:])
    assert min(level[4:]) < level[0] / 1.5


def test_small_batches_would_never_settle_without_the_allowance_for_noise() -> None:
    batches = [batch(i, rows=3_000) for i in range(12)]
    decisions = follow(Repartitioner(), batches, "prompt")[0]  # plans anew for every batch
    assert not any(d.change for d in decisions[3:])
    gains = [d.gain for d in decisions[3:]]
    assert max(gains) > Repartitioner().least_gain


def test_a_drifting_stream_is_followed_within_the_memory() -> None:
    before = [batch(i, law=1) for i in range(5)]
    after = [batch(i, law=2) for i in range(5, 12)]
    judge = Repartitioner(memory=3)
    decisions, level = follow(judge, before + after)
    changed = [number for number, d in enumerate(decisions) if d.change]
    assert any(5 <= number < 5 + judge.memory for number in changed)
    assert not any(d.change for d in decisions[9:])
    assert max(level[9:]) < 1.1 < level[5]


def test_a_burst_of_one_batch_moves_nothing() -> None:
    batches = [batch(i, law=1) for i in range(5)]
    batches[4] = batch(4, law=2)
    decisions, _ = follow(Repartitioner(), batches)
    assert not decisions[4].change
    assert "only on the newest" in decisions[4].reason


def two_lanes(heavy: float) -> Histogram:
    return Histogram.from_counts({0: 100.0, 2: heavy, 1: 100.0 - heavy}, unit="seconds")


SPLIT = Plan(2, {2: 1})

SCENARIOS: list[Any] = [
    pytest.param({}, SPLIT, 60.0, True, "paid back", id="a clear gain at a small cost is taken"),
    pytest.param({}, SPLIT, 2.0, False, "less than", id="a gain too small to matter is left"),
    pytest.param({}, Plan(2), 60.0, False, "not fall", id="the running plan is no news"),
    pytest.param({}, Plan(2, {1: 0}), 60.0, False, "not fall", id="a worse plan is refused"),
    pytest.param(
        {"move_cost": 30.0, "horizon": 10.0},
        SPLIT,
        60.0,
        False,
        "win back",
        id="state too dear to move stays",
    ),
    pytest.param(
        {"move_cost": 30.0, "horizon": 100.0},
        SPLIT,
        60.0,
        True,
        "paid back",
        id="the same state moves when the plan will live long",
    ),
    pytest.param(
        {"budget": 0.1},
        SPLIT,
        60.0,
        False,
        "budget of 10.0%",
        id="one key above the budget cannot move in part",
    ),
    pytest.param(
        {}, Plan(3), 60.0, True, "from 2 to 3", id="another number of lanes leaves no choice"
    ),
]


@pytest.mark.parametrize(("parameters", "candidate", "heavy", "change", "words"), SCENARIOS)
def test_decision(
    parameters: dict[str, float], candidate: Plan, heavy: float, change: bool, words: str
) -> None:
    found = Repartitioner(**parameters).decide(Plan(2), candidate, two_lanes(heavy))  # type: ignore[arg-type]
    assert found.change is change
    assert words in found.reason
    assert found.plan == (candidate if change else Plan(2))


def test_gain_cost_and_moved_are_those_of_the_formula() -> None:
    found = Repartitioner(move_cost=3.0).decide(Plan(2), SPLIT, two_lanes(60.0))
    # 160 of 200 on lane 0 before; 100 on each lane after; a share of 60/200 moves.
    assert found.gain == pytest.approx(1.6 - 1.0)
    assert found.moved == pytest.approx(0.3)
    assert found.cost == pytest.approx(0.9)


@pytest.mark.parametrize("maker", ["trim", "prompt"])
def test_no_change_moves_more_than_the_budget_and_the_lanes_still_level(maker: str) -> None:
    batches = [batch(i, law=1, z=1.2) for i in range(20)]
    judge = Repartitioner(budget=0.04, least_gain=0.02)
    decisions, level = follow(judge, batches, maker)
    assert sum(d.change for d in decisions) > 1
    assert max(d.moved for d in decisions if d.change) <= 0.04 + 1e-9
    free_level = follow(Repartitioner(least_gain=0.02), batches, maker)[1]
    assert level[-1] - free_level[-1] < 0.1 * (level[0] - free_level[-1])


def test_a_trimmed_change_says_so() -> None:
    histogram = batch(0, z=1.2)
    candidate = planner("trim", lanes=LANES).plan(histogram)
    found = Repartitioner(budget=0.04).decide(Plan(LANES), candidate, histogram)
    assert found.change
    assert found.plan not in (candidate, Plan(LANES))
    assert "more than the budget of 4.0%" in found.reason


def test_state_goes_through_json_and_arrays_and_decides_the_same() -> None:
    batches = [batch(i, law=i // 4) for i in range(8)]
    whole = Repartitioner(memory=4, budget=0.2)
    expected = [d.reason for d in follow(whole, batches)[0]]
    first = Repartitioner(memory=4, budget=0.2)
    running, reasons = Plan(LANES), []
    judge = first
    for histogram in batches:
        candidate = planner("trim", lanes=LANES).plan(histogram, running)
        decision = judge.decide(running, candidate, histogram)
        running = decision.plan
        reasons.append(decision.reason)
        state = judge.state()
        arrays = {name: array.copy() for name, array in state.pop("arrays").items()}
        judge = Repartitioner.restore({**json.loads(json.dumps(state)), "arrays": arrays})
    assert reasons == expected


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("least_gain", -0.1),
        ("least_gain", float("nan")),
        ("horizon", 0),
        ("move_cost", -1),
        ("budget", 0),
        ("budget", 1.5),
        ("memory", 0),
        ("memory", 1.5),
    ],
)
def test_parameters_are_checked(parameter: str, value: float) -> None:
    with pytest.raises(InvalidArgument, match=parameter):
        Repartitioner(**{parameter: value})  # type: ignore[arg-type]


def test_arguments_are_checked() -> None:
    with pytest.raises(InvalidArgument, match="candidate must be a"):
        Repartitioner().decide(Plan(2), None, two_lanes(1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="histogram must be a"):
        Repartitioner().decide(Plan(2), Plan(2), {})  # type: ignore[arg-type]


def test_a_stream_without_weight_changes_nothing() -> None:
    assert not Repartitioner().decide(Plan(2), SPLIT, Histogram.from_counts({})).change


def damaged(**change: object) -> dict[str, Any]:
    judge = Repartitioner()
    judge.decide(Plan(2), SPLIT, two_lanes(60.0))
    return {**judge.state(), **change}


@pytest.mark.parametrize(
    ("state", "words"),
    [
        pytest.param({"format": "other"}, "not the state", id="another format"),
        pytest.param(damaged(version=1), "version 1", id="an older version"),
        pytest.param(damaged(version=3), "version 3", id="a newer version"),
        pytest.param(damaged(values={}), "damaged", id="histograms lost"),
        pytest.param(damaged(values={"past": ["{}"]}), "damaged", id="a damaged histogram"),
        pytest.param(damaged(parameters={"memory": 0}), "damaged", id="impossible parameters"),
    ],
)
def test_damaged_state_is_refused(state: dict[str, Any], words: str) -> None:
    with pytest.raises(CorruptState, match=words):
        Repartitioner.restore(state)


def test_where_keys_are_counted_a_hot_key_is_cheap_to_move_and_a_tail_is_dear() -> None:
    counts = {0: 500.0, 2: 400.0, **dict.fromkeys(range(4, 104, 2), 2.0)}
    histogram = Histogram.from_counts(counts)
    hot, tail = Plan(2, {0: 1}), Plan(2, {key: 1 for key in counts if key >= 4})
    by_weight = Repartitioner(least_gain=0.01, move_cost=50.0)
    by_keys = Repartitioner(least_gain=0.01, move_cost=50.0, keys=len(counts))
    assert not by_weight.decide(Plan(2), hot, histogram).change
    decision = by_keys.decide(Plan(2), hot, histogram)
    assert decision.change
    assert decision.moved == pytest.approx(1 / len(counts))
    assert by_keys.decide(Plan(2), tail, histogram).moved == pytest.approx(50 / len(counts))
    again = Repartitioner.restore(by_keys.state())
    assert again.keys == len(counts)


def test_a_budget_counts_keys_where_keys_are_counted() -> None:
    rng = np.random.default_rng(1)
    counts = {int(key) * 2: float(weight) for key, weight in enumerate(rng.zipf(1.5, 200))}
    histogram = Histogram.from_counts(counts)
    wanted = Plan(2, {key: key // 2 % 2 for key in counts})
    judge = Repartitioner(least_gain=0.0, move_cost=0.0, budget=0.05, keys=len(counts))
    decision = judge.decide(Plan(2), wanted, histogram)
    assert 0 < decision.moved <= 0.05
