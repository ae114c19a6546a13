"""What routers of tasks keep between batches, on every place, without a job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.journal.store.places import LocalPlace, Place
from trimtab import hash_keys, router
from trimtab import state as states
from trimtab.control.machines import LaneTimes
from trimtab.control.q_sync import GlobalTable, QTableReducer
from trimtab.errors import CorruptState
from trimtab.journal.store import Store
from trimtab.routers import Router
from trimtab.routers.cg import CgRouter
from trimtab.routers.dalton import DaltonRouter
from trimtab.spark.routing import task_states
from trimtab.spark.routing.carriers import Ready
from trimtab.spark.routing.task_states import TaskStates


def learned(name: str, rows: int, **parameters: object) -> Router:
    made = router(name, lanes=4, **parameters)
    made.route(hash_keys([f"user{n % 7}" for n in range(rows)]))
    return made


PKG = type(learned("pkg", 0))


def batch(store: Store, number: int, before: Ready | None = None) -> TaskStates:
    return TaskStates(store, before, f"routers/{number}-1")


def rows_of(store: Store, ready: Ready | None) -> list[int]:
    assert ready is not None
    found = [states.parse(ready.read(store, n)) for n in range(len(ready))]
    return [int(state["arrays"]["_loads"].sum()) for state in found]


def test_a_task_goes_on_from_what_it_left(place: Place) -> None:
    first = batch(place.open(), 0)
    assert first.in_tasks.of_task(0, PKG) is None
    first.in_tasks.leave(0, learned("pkg", 10))
    first.in_tasks.leave(1, learned("pkg", 20))
    _, ready = first.gather(PKG, None)
    assert ready is not None
    second = batch(place.open(), 1, Ready.from_record(ready.to_record()))
    found = [second.in_tasks.of_task(number, PKG) for number in range(3)]
    # A third task learns from one of the two.
    assert [int(made.loads().sum()) for made in found if made is not None] == [10, 20, 10]


def test_a_task_without_rows_keeps_what_it_had_and_numbers_have_no_gaps(place: Place) -> None:
    store = place.open()
    first = batch(store, 0)
    first.in_tasks.leave(0, learned("pkg", 10))
    first.in_tasks.leave(3, learned("pkg", 30))
    _, ready = first.gather(PKG, None)
    assert rows_of(store, ready) == [10, 30]
    second = batch(store, 1, ready)
    second.in_tasks.leave(1, learned("pkg", 50))
    assert rows_of(store, second.gather(PKG, None)[1]) == [10, 50]
    # A batch without rows leaves nothing new, and loses nothing.
    assert rows_of(store, batch(store, 2, ready).gather(PKG, None)[1]) == [10, 30]


def test_without_any_state_there_is_none_to_go_on_from(place: Place) -> None:
    assert batch(place.open(), 0).gather(PKG, None) == (None, None)


def test_cooperating_daltons_learn_from_each_other(place: Place) -> None:
    store = place.open()
    made = batch(store, 0)
    for number in range(3):
        made.in_tasks.leave(number, learned("dalton", 100 * (number + 1), cooperate=True))
    cls = type(learned("dalton", 0))
    reducer, ready = made.gather(cls, None)
    assert reducer is not None
    again: dict[str, Any] | None
    again, _ = batch(store, 1, ready).gather(cls, reducer)
    assert again is not None


def daltons(place: Place, seconds: list[tuple[float, float]]) -> tuple[list[Any], Ready]:
    """Run batches of 100 and 200 rows through two instances, as tasks do.

    Gives what the reducer's record says after each, and the last states. `seconds` are, for each
    batch, how long it ran and how long its states took to gather.
    """
    store, start = place.open(), router("dalton", lanes=4, slides=1, cooperate=True)
    cls, reducer, ready, records = DaltonRouter, None, None, []
    for number, (ran, worked) in enumerate(seconds):
        made = batch(store, number, ready)
        for task in range(2):
            instance = made.in_tasks.of_task(task, cls) or cls.restore(start.state())
            instance.route(hash_keys([f"user{n % 7}" for n in range(100 * (task + 1))]))
            made.in_tasks.leave(task, instance)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(task_states, "perf_counter", iter([0.0, worked]).__next__)
            reducer, ready = made.gather(cls, reducer, ran)
        records.append(reducer)
    assert ready is not None
    return records, ready


def test_daltons_tell_their_loads_before_these_are_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []

    class Listening(QTableReducer):
        def merge(self, *args: Any) -> GlobalTable:
            tables.append(super().merge(*args))
            return tables[-1]

    place = LocalPlace(tmp_path)
    monkeypatch.setattr(task_states, "QTableReducer", Listening)
    _, ready = daltons(place, [(1.0, 0.0)] * 3)
    # Each batch has 300 rows, and the loads of a batch are those of its own rows.
    assert [int(table.loads.sum()) for table in tables] == [300] * 3
    assert [table.records for table in tables] == [300] * 3
    # They leave with their batch.
    again = batch(place.open(), 3, ready).in_tasks.of_task(0, DaltonRouter)
    assert again is not None
    assert not again.state()["arrays"]["_foreign"].any()


def test_an_instance_without_rows_has_no_loads_in_the_round(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path)
    _, ready = daltons(place, [(1.0, 0.0)])
    made = batch(place.open(), 1, ready)
    instance = made.in_tasks.of_task(0, DaltonRouter)
    assert instance is not None
    instance.route(hash_keys(["a"] * 50))
    made.in_tasks.leave(0, instance)
    _, ready = made.gather(DaltonRouter, None)
    assert ready is not None
    # The other's 200 rows were of the batch before.
    told = states.parse(ready.read(place.open(), 0))
    assert told["arrays"]["_foreign"].sum() == 0


@pytest.mark.parametrize(
    ("seconds", "intervals"),
    [
        # The first round has nothing to compare: the interval is the 200 rows of the larger task.
        pytest.param([(9.0, 1.0)] * 4, [200, 100, 50, 25], id="quick answers shorten it"),
        # Due again only after 400 rows of the larger task, so that every second batch has a round.
        pytest.param(
            [(1.0, 9.0)] * 6, [200, 400, 400, 800, 800, 800], id="answers that hold up the stream"
        ),
        pytest.param([(5.0, 5.0)] * 3, [200, 200, 200], id="answers just in time leave it"),
    ],
)
def test_the_interval_between_rounds_adapts(
    seconds: list[tuple[float, float]], intervals: list[int], tmp_path: Path
) -> None:
    records, _ = daltons(LocalPlace(tmp_path), seconds)
    assert [record["table"]["parameters"]["interval"] for record in records] == intervals


def test_a_state_that_cannot_be_used_is_refused_by_name(place: Place) -> None:
    store = place.open()
    made = batch(store, 0)
    made.in_tasks.leave(0, learned("pkg", 10))
    _, ready = made.gather(PKG, None)
    assert ready is not None
    data = store.read(ready.name(0))
    store.remove(ready.name(0))
    store.create(ready.name(0), data.replace(b"1", b"2", 1))
    with pytest.raises(CorruptState, match=r"ready/0\.json cannot be used"):
        batch(store, 1, ready).in_tasks.of_task(0, PKG)
    store.remove(ready.name(0))
    with pytest.raises(CorruptState, match=r"ready/0\.json is missing"):
        batch(store, 1, ready).gather(PKG, None)


def test_every_instance_of_cg_hands_over_the_same(tmp_path: Path) -> None:
    store = LocalPlace(tmp_path).open()
    times = LaneTimes(
        np.full(4, 5.0), np.zeros(4), np.array([1.0, 1.0, 1.0, 4.0]), ("a/0", "a/0", "a/0", "b/1")
    )
    kept, ready = None, None
    for number in range(3):
        states_of = batch(store, number, ready)
        for task in range(2):
            found = states_of.in_tasks.of_task(task, CgRouter)
            states_of.in_tasks.leave(task, found or learned("cg", 10))
        kept, ready = states_of.gather(CgRouter, kept, times=times)
        assert kept is not None
        # As a checkpoint holds it.
        kept = json.loads(json.dumps(kept))
    assert kept["signals"][3] == -1
    assert kept["virtual_workers"][3] == 7
    assert sum(kept["virtual_workers"]) == 40
    last = batch(store, 3, ready)
    for task in range(3):
        router_of_task = last.in_tasks.of_task(task, CgRouter)
        assert router_of_task is not None
        assert router_of_task.virtual_workers().tolist() == kept["virtual_workers"]
    # Where nobody has measured lanes, nothing is handed over.
    last.in_tasks.leave(0, learned("cg", 10))
    assert last.gather(CgRouter, kept)[0] == kept
