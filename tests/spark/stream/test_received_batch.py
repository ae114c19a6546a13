"""What receivers tell of a batch: all its keys, and where their plans have put them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.receive.written_logs import rows_of, write_batch, write_log, write_two_logs
from trimtab import Histogram, hash_keys
from trimtab.journal.spark_offsets import Offsets
from trimtab.journal.store import store
from trimtab.journal.store.base import Store
from trimtab.receive.log import Log
from trimtab.spark.stream.course import Course
from trimtab.spark.stream.knowledge import Knowledge
from trimtab.spark.stream.looking import TOLD
from trimtab.spark.stream.received_batch import Receivers


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    return write_two_logs(tmp_path)


@pytest.fixture
def checkpoint(logs: list[str], tmp_path: Path) -> Store:
    """Return a checkpoint in which Spark has noted two batches of both logs."""
    notes = tmp_path / "ck" / "spark" / "offsets"
    notes.mkdir(parents=True)
    for batch, ends in enumerate(([0, 0], [2, 0])):
        (notes / str(batch)).write_text(
            f"v1\n{{}}\n-\n{json.dumps({'trimtab.log': dict(zip(logs, ends, strict=True))})}\n"
        )
    return store(str(tmp_path / "ck"))


def noted(checkpoint: Store, number: int) -> Offsets:
    lines = checkpoint.read_file(f"spark/offsets/{number}").decode().splitlines()
    return Offsets(tuple(lines[2:]), 0)


def counted(*numbers: int) -> Histogram:
    tables = [rows_of(number)["k"] for number in numbers]
    return Histogram.from_hashes(np.concatenate([hash_keys(keys) for keys in tables]))


def rows_in(log: str, number: int) -> list[int]:
    return [block.rows for block in Log.open(log).manifest(number).blocks]


def test_a_batch_of_one_log_has_its_plan(logs: list[str], checkpoint: Store) -> None:
    alone = Offsets((json.dumps({"trimtab.log": {logs[0]: 0}}),), 0)
    told = Receivers(logs[:1], ["k"]).told(checkpoint, 0, alone)
    assert told is not None
    assert told.plan == Log.open(logs[0]).manifest(0).plan
    assert told.blocks.tolist() == rows_in(logs[0], 0)
    assert told.histogram.to_json() == counted(0).to_json()
    assert told.course(Knowledge()).route.name == "prompt"
    assert told.newest == {logs[0]: (0, 400)}


def test_batches_that_run_together_are_counted_together(logs: list[str], checkpoint: Store) -> None:
    receivers = Receivers(logs, ["k"])
    first = receivers.told(checkpoint, 0, noted(checkpoint, 0))
    assert first is not None
    # Blocks of each log stand side by side.
    assert first.blocks.tolist() == rows_in(logs[0], 0) + rows_in(logs[1], 0)
    assert np.allclose(first.plan.loads(first.histogram), first.blocks, rtol=0.15)
    assert first.histogram.to_json() == counted(0, 7).to_json()
    second = receivers.told(checkpoint, 1, noted(checkpoint, 1))
    assert second is not None
    assert second.newest == {logs[0]: (2, 800)}
    assert second.blocks.tolist() == np.add(rows_in(logs[0], 1), rows_in(logs[0], 2)).tolist()
    assert np.allclose(second.plan.loads(second.histogram), second.blocks, rtol=0.15)


def test_the_course_is_the_plan_of_the_receiver(logs: list[str], checkpoint: Store) -> None:
    told = Receivers(logs, ["k"]).told(checkpoint, 0, noted(checkpoint, 0))
    assert told is not None
    course = told.course(Knowledge())
    assert (course.route.lanes, course.version, course.changed) == (6, 1, True)
    assert course.reason.startswith("plan of the receiver")
    assert (course.look.how, course.look.rows, course.look.exact) == (TOLD, 800, True)
    assert "seconds" not in course.look.to_event()
    again = Course.from_record(json.loads(json.dumps(course.to_record())), "a test")
    assert (again.blocks, again.look, again.route.plan) == (
        tuple(told.blocks.tolist()),
        course.look,
        told.plan,
    )
    following = told.course(Knowledge(plan=told.plan, version=4))
    assert (following.version, following.changed) == (4, False)


def test_blocks_without_rows_are_lanes_all_the_same(tmp_path: Path) -> None:
    place = write_log(tmp_path / "few", blocks=4)
    write_batch(place, 0, rows_of(0, rows=2).slice(0, 1))
    # The receiver starts again, with fewer blocks.
    Log.create(place, schema=Log.open(place).schema, key="k", blocks=2)
    write_batch(place, 1)
    one, both = (
        Receivers([str(place)], ["k"]).told(
            store(str(tmp_path)), 0, Offsets((json.dumps({"trimtab.log": {str(place): n}}),), 0)
        )
        for n in (0, 1)
    )
    assert one is not None
    assert both is not None
    course = one.course(Knowledge())
    assert (course.route.lanes, sum(course.blocks), len(course.blocks)) == (4, 1, 4)
    course = both.course(Knowledge())
    assert (course.route.lanes, sum(course.blocks), len(course.blocks)) == (4, 401, 4)


@pytest.mark.parametrize(
    ("keys", "sources"),
    [
        pytest.param(["x"], None, id="the stream has another key"),
        pytest.param(["k"], ("-",), id="nothing has come yet"),
        pytest.param(["k"], ('{"offset": 3}',), id="the batch is of another source"),
    ],
)
def test_where_receivers_tell_nothing(
    keys: list[str], sources: tuple[str, ...] | None, logs: list[str], checkpoint: Store
) -> None:
    offsets = noted(checkpoint, 0) if sources is None else Offsets(sources, 0)
    assert Receivers(logs, keys).told(checkpoint, 0, offsets) is None
    assert Receivers((), keys).told(checkpoint, 0, offsets) is None
    assert Receivers(logs, ["k"]).told(checkpoint, 0, None) is None


def test_seconds_are_noted_for_every_log(logs: list[str], checkpoint: Store) -> None:
    told = Receivers(logs, ["k"]).told(checkpoint, 0, noted(checkpoint, 0))
    assert told is not None
    told.note_seconds(1.25)
    for log in logs:
        (note,) = Path(log, "processed").iterdir()
        assert json.loads(note.read_text()) == {"seconds": 1.25, "rows": 400}
