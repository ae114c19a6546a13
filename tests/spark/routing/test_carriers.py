"""The ways of states to tasks and back, on every place."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from tests.journal.store.places import Place
from trimtab.errors import CorruptState
from trimtab.journal.store import Store
from trimtab.spark.routing.carriers import Ready, ThroughSpark, ThroughStore, carrier_of


def made_ready(store: Store, *data: bytes) -> Ready:
    ready = Ready("routers/0-1", tuple(map(len, data)))
    for instance, each in enumerate(data):
        store.create(ready.name(instance), each)
    return ready


def test_tasks_take_states_from_the_store_and_leave_theirs_there(place: Place) -> None:
    store = place.open()
    ready = made_ready(store, b"first", b"second")
    carrier = carrier_of(store, ready, "routers/1-1", None)
    assert isinstance(carrier, ThroughStore)
    if place.kind != "hadoop":
        # It travels to the tasks.
        carrier = pickle.loads(pickle.dumps(carrier))  # noqa: S301 - it is our own
    assert carrier.state_of(1) == b"second"
    assert carrier.left() == {}
    carrier.leave(12, 7, b"twelve")
    for attempt in (9, 10, 2):
        carrier.leave(3, attempt, b"attempt %d" % attempt)
    # Of several attempts of a task the latest counts.
    assert carrier.left() == {3: b"attempt 10", 12: b"twelve"}


def test_a_state_that_is_missing_or_short_is_refused_by_name(place: Place) -> None:
    store = place.open()
    ready = made_ready(store, b"first", b"second")
    assert Ready.from_record(ready.to_record()) == ready
    assert Ready.from_record(None) is None
    assert [ready.read(store, instance) for instance in range(len(ready))] == [b"first", b"second"]
    store.remove(ready.name(0))
    with pytest.raises(CorruptState, match=r"routers/0-1/ready/0\.json is missing"):
        ready.read(store, 0)
    store.create(ready.name(0), b"firs")
    with pytest.raises(CorruptState, match=r"ready/0\.json has 4 bytes, but was written with 5"):
        ready.read(store, 0)


@pytest.mark.spark
def test_where_only_hadoop_can_open_the_place_spark_carries_states(
    lost_session: Any, tmp_path: Any
) -> None:
    from pyspark import TaskContext
    from pyspark.sql import functions as F

    from trimtab.journal.store.hadoop import HadoopStore

    store = HadoopStore(f"file:{tmp_path}", lost_session)
    carrier = carrier_of(store, made_ready(store, b"a", b"b"), "routers/1-1", lost_session)
    assert isinstance(carrier, ThroughSpark)

    def task(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        context = TaskContext.get()
        number = context.partitionId()
        yield from batches
        carrier.leave(number, context.taskAttemptId(), carrier.state_of(number) * 2)

    ran = lost_session.range(0, 10, 1, 2).select(F.arrow_udf(task, "long")("id"))
    # Twice: a task that runs again counts once.
    for _ in range(2):
        ran.write.format("noop").mode("overwrite").save()
    assert carrier.left() == {0: b"aa", 1: b"bb"}
