from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal.event_log import EventLog
from trimtab.report.log import batches_of, read_run


def event(batch: int, loads: list[float], **facts: Any) -> dict[str, Any]:
    """Return a line as the stream's runner writes it."""
    return {
        "batch": batch,
        "at": "2026-01-01T00:00:00.000+00:00",
        "partitioner": "trim",
        "plan": "90106cb38fcf83bb",
        "plan_version": 1 + batch,
        "changed": True,
        "reason": f"reason {batch}",
        "moved": 0.25,
        "map_tasks": len(loads),
        "reduce_tasks": None,
        "scaling": "",
        "late_rows": 3,
        "rows": sum(loads),
        "distinct_keys": 12,
        "hottest": [{"key": "/a", "share": 0.5}, {"key": "/b", "share": 0.25}],
        "loads": loads,
        "max_over_mean": 2.0,
        "replication": 1.5,
        "bytes_moved": 4096,
        "seconds": {"total": 2.5, "planning": 0.5, "running": 1.5, "recording": 0.5},
        **facts,
    }


def checkpoint(place: Path, *events: dict[str, Any], operation: str = "aggregate") -> Path:
    place.mkdir(exist_ok=True)
    (place / "meta.json").write_text(json.dumps({"operation": operation}), encoding="utf-8")
    log = EventLog(place)
    for line in events:
        log.append(line)
    return place


def test_a_run_has_all_that_the_log_tells(tmp_path: Path) -> None:
    place = checkpoint(tmp_path / "ck", event(0, [30, 10, 10, 10]), event(1, [20, 20, 20, 20]))
    run = read_run(place)
    first = run.batches[0]
    assert run.name == "ck (trim)"
    assert run.numbers == [0, 1]
    assert first.loads.tolist() == [30, 10, 10, 10]
    assert first.hottest == (("/a", 30.0), ("/b", 15.0))
    assert (first.version, first.changed, first.reason) == (1, True, "reason 0")
    assert (first.distinct, first.replication, first.seconds) == (12, 1.5, 2.5)
    assert (first.late, first.tasks, first.moved_bytes) == (3, 4, 4096)


@pytest.mark.parametrize(
    ("operation", "bound"),
    [
        pytest.param("aggregate", 15.0, id="keys that may be split are no floor"),
        pytest.param("for_each_batch", 15.0, id="nor are those of a function of a batch"),
        pytest.param("apply", 30.0, id="the heaviest key is the floor of a function of a key"),
    ],
)
def test_the_bound_follows_from_the_operation(tmp_path: Path, operation: str, bound: float) -> None:
    place = checkpoint(tmp_path, event(0, [30, 10, 10, 10]), operation=operation)
    assert read_run(place, "x").batches[0].bound == bound


def test_batches_without_rows_are_left_out(tmp_path: Path) -> None:
    quiet = {"batch": 1, "rows": 0, "plan_version": 1}
    bare = {"batch": 2, "plan_version": 1}
    place = checkpoint(tmp_path, event(0, [1, 1]), quiet, bare, event(3, [2, 2]))
    assert read_run(place).numbers == [0, 3]


def test_reduce_tasks_count_as_tasks() -> None:
    (batch,) = batches_of([event(0, [1, 1], reduce_tasks=5)], splits_keys=True)
    assert batch.tasks == 7


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        pytest.param(lambda p: p / "nix", "no such checkpoint", id="no directory"),
        pytest.param(lambda p: p, "has no eventlog.jsonl", id="not a checkpoint"),
        pytest.param(
            lambda p: checkpoint(p, {"batch": 0, "rows": 0}), "no batch with rows", id="no rows yet"
        ),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, prepare: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=sentence):
        read_run(prepare(tmp_path))


def test_a_damaged_line_names_file_and_batch(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, {"batch": 4, "rows": 10})
    with pytest.raises(CorruptState, match=r"eventlog\.jsonl is damaged: the line of batch 4"):
        read_run(place)


def test_a_damaged_meta_file_is_named(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, event(0, [1, 1]))
    (place / "meta.json").write_text("{", encoding="utf-8")
    with pytest.raises(CorruptState, match=r"meta\.json is damaged"):
        read_run(place)


def test_a_log_without_meta_file_can_still_be_read(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, event(0, [1, 1]))
    (place / "meta.json").unlink()
    assert read_run(place).batches[0].bound == 1.0
