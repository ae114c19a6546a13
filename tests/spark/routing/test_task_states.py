"""What routers of tasks keep between batches, on every place, without a job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journal.store.places import Place
from trimtab import hash_keys, router
from trimtab import state as states
from trimtab.errors import CorruptState
from trimtab.journal.store import Store
from trimtab.routers import Router
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
