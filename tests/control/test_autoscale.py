from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import autoscale as slow
from trimtab.control.autoscale import AutoScaler, ScaleDecision
from trimtab.errors import CorruptState, InvalidArgument

Batch = tuple[float, float, float]

BATCHES = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.3, 0.5, 0.8, 0.81, 0.9, 0.91, 1.4]),
        st.sampled_from([0.0, 1000.0, 1010.0, 1500.0]),
        st.sampled_from([0.0, 50.0, 51.0, 80.0]),
    ),
    max_size=40,
)


def feed(scaler: AutoScaler, batches: list[Batch]) -> list[ScaleDecision]:
    return [scaler.observe(w * 2.0, 2.0, rows, keys) for w, rows, keys in batches]


@given(BATCHES, st.integers(1, 4), st.integers(1, 6), st.integers(1, 6))
def test_scaling_equals_the_twin(batches: list[Batch], d: int, maps: int, reduces: int) -> None:
    scaler = AutoScaler(maps, reduces, most_map_tasks=7, most_reduce_tasks=7, batches=d)
    found = [(made.map_tasks, made.reduce_tasks) for made in feed(scaler, batches)]
    assert found == slow.plans(
        batches, maps, reduces, most=7, threshold=0.9, step=0.1, d=d, tolerance=0.02
    )


CALM: Batch = (0.85, 1000.0, 100.0)

SCENARIOS: list[Any] = [
    pytest.param([CALM] * 9, (8, 8), "stable", id="zone 2 changes nothing"),
    pytest.param(
        [CALM, *[(0.95, 1500.0, 100.0)] * 3], (9, 8), "data rate rose", id="rate rises: a mapper"
    ),
    pytest.param(
        [CALM, *[(0.95, 1000.0, 150.0)] * 3],
        (8, 9),
        "number of keys rose",
        id="keys rise: a reducer",
    ),
    pytest.param(
        [CALM, *[(0.95, 1500.0, 150.0)] * 3],
        (9, 9),
        "the data rate and the number of keys rose",
        id="both rise: one of each",
    ),
    pytest.param(
        [CALM, *[(0.95, 1000.0, 100.0)] * 3],
        (9, 9),
        "neither",
        id="slow for no reason in the data: one of each",
    ),
    pytest.param(
        [(0.95, 1000.0, 100.0)] * 3, (9, 9), "neither", id="overloaded from the start: one of each"
    ),
    pytest.param(
        [CALM, *[(0.95, 1500.0, 100.0)] * 2], (8, 8), "2 of 3", id="two batches are not three"
    ),
    pytest.param(
        [CALM, *[(0.95, 1500.0, 100.0)] * 2, CALM, *[(0.95, 1500.0, 100.0)] * 2],
        (8, 8),
        "2 of 3",
        id="the batches must be in a row",
    ),
    pytest.param(
        [CALM, *[(0.95, 1500.0, 100.0)] * 9],
        (11, 8),
        "data rate rose",
        id="a rate that jumped and stays counts until the zone is left",
    ),
    pytest.param(
        [CALM, *[(0.70, 500.0, 100.0)] * 3], (7, 8), "data rate fell", id="rate falls: one less"
    ),
    pytest.param(
        [CALM, *[(0.70, 1000.0, 50.0)] * 3], (8, 7), "number of keys fell", id="keys fall: one less"
    ),
    pytest.param(
        [CALM, *[(0.80, 500.0, 100.0)] * 3],
        (8, 8),
        "would grow to 0.91",
        id="a task whose work the others cannot take stays",
    ),
    pytest.param(
        [CALM, *[(0.95, 1005.0, 150.0)] * 3],
        (8, 9),
        "number of keys rose",
        id="half a per cent more rows is no rise",
    ),
    pytest.param(
        [CALM, *[(0.95, 1500.0, 100.0)] * 3, *[(0.5, 500.0, 50.0)] * 3],
        (9, 8),
        "less than 3 batches ago",
        id="no reverse within the grace period",
    ),
    pytest.param(
        [CALM, *[(0.95, 1500.0, 100.0)] * 3, *[(0.5, 500.0, 50.0)] * 4],
        (8, 7),
        "fell",
        id="a reverse after the grace period",
    ),
]


@pytest.mark.parametrize(("batches", "tasks", "words"), SCENARIOS)
def test_scenario(batches: list[Batch], tasks: tuple[int, int], words: str) -> None:
    last = feed(AutoScaler(8, 8), batches)[-1]
    assert (last.map_tasks, last.reduce_tasks) == tasks
    assert words in last.reason


def test_a_growing_load_is_met_and_given_back_when_it_shrinks() -> None:
    # Work in proportion to rows and keys, spread over the tasks: Prompt's Figure 12 in small.
    scaler, tasks, most = AutoScaler(2, 2, batches=2), [], 0.0
    rows = [1000.0 * min(i, 60) for i in range(10, 90)] + [60_000.0 - 800 * i for i in range(70)]
    for number, count in enumerate(rows):
        load = count / 12_000 / scaler.map_tasks + count / 30_000 / scaler.reduce_tasks
        decision = scaler.observe(load, 1.0, count, count / 10)
        tasks.append(decision.map_tasks + decision.reduce_tasks)
        if 75 <= number < 80:
            most = max(most, load)
    assert most <= 0.9
    assert max(tasks) > 3 * tasks[0] > tasks[-1]


def test_bounds_hold() -> None:
    up = AutoScaler(2, 2, most_map_tasks=3, most_reduce_tasks=2, batches=1)
    last = feed(up, [(2.0, 1.0, 1.0)] * 5)[-1]
    assert (last.map_tasks, last.reduce_tasks) == (3, 2)
    assert "at their bounds" in last.reason
    down = AutoScaler(5, 5, least_map_tasks=4, least_reduce_tasks=2, batches=1)
    last = feed(down, [(0.0, 1.0, 1.0)] * 9)[-1]
    assert (last.map_tasks, last.reduce_tasks) == (4, 2)


@given(BATCHES, st.integers(0, 40))
def test_a_restored_scaler_goes_on_as_if_nothing_had_happened(
    batches: list[Batch], cut: int
) -> None:
    whole = feed(AutoScaler(3, 4, batches=2), batches)
    first = AutoScaler(3, 4, batches=2)
    halves = feed(first, batches[:cut])
    second = AutoScaler.restore(json.loads(json.dumps(first.state())))
    assert halves + feed(second, batches[cut:]) == whole


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"map_tasks": 0}, "map_tasks"),
        ({"reduce_tasks": 2000}, "reduce_tasks must be a whole number in 1..1024"),
        ({"most_map_tasks": 1, "least_map_tasks": 2}, "most_map_tasks"),
        ({"threshold": 1.0}, "threshold"),
        ({"step": 0.9}, "step"),
        ({"batches": 0}, "batches"),
        ({"tolerance": -1}, "tolerance"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        AutoScaler(**{"map_tasks": 4, "reduce_tasks": 4, **parameters})


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ((-1.0, 1.0, 1, 1), "processing_time"),
        ((1.0, 0.0, 1, 1), "batch_interval"),
        ((1.0, 1.0, -1, 1), "rows"),
        ((1.0, 1.0, 1, float("nan")), "keys"),
    ],
)
def test_batches_are_checked(batch: tuple[float, float, float, float], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        AutoScaler(4, 4).observe(*batch)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"format": "x"}, "not the state", id="another format"),
        pytest.param({"version": 9}, "version 9", id="a newer version"),
        pytest.param({"values": {}}, "damaged", id="values lost"),
        pytest.param({"parameters": {"map_tasks": 0}}, "damaged", id="impossible parameters"),
    ],
)
def test_damaged_state_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CorruptState, match=words):
        AutoScaler.restore({**AutoScaler(4, 4).state(), **change})
