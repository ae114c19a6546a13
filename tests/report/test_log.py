from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.checkpoints import checkpoint, event
from trimtab import hash_keys
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.report.log import checkpoint_store, figures_of, newest_run, read_run
from trimtab.report.terminal.words import decision

COUNTED = {"rows", "distinct_keys", "hottest", "loads", "max_over_mean", "replication"}
"""What a line lacks if the rows of its batch were not counted."""


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
    assert (first.rows, first.scaling, first.watermark) == (60, "", None)
    assert (first.look, first.look_seconds) == ("", None)


def test_lanes_that_were_meant_to_be_unequal_are_shown_level(tmp_path: Path) -> None:
    line = event(0, [6, 6, 6, 30, 12], shares=[0.5, 0.5, 0.5, 2.5, 1.0])
    (batch,) = read_run(checkpoint(tmp_path, line, operation="apply")).batches
    assert batch.loads.tolist() == [12.0] * 5
    # The heaviest key, half of all rows, is on the largest lane.
    assert (batch.max_over_mean, batch.over_bound, batch.rows) == (1.0, 1.0, 60)


def test_a_run_tells_what_state_moved_and_what_that_cost(tmp_path: Path) -> None:
    moved = {"moved_keys": 1200, "moved_bytes": 64_000, "moving_seconds": 0.5, "moving_cost": 0.25}
    expected = {"gain": 0.5, "cost": 0.125}
    place = checkpoint(
        tmp_path,
        event(0, [1, 3]),
        event(1, [2, 2], state=moved, expected=expected),
        event(2, [2, 2], state={**moved, "moving_cost": None}),
    )
    first, second, third = read_run(place).batches
    assert first.moved_state == ""
    words = "1,200 keys of state moved, 64,000 bytes, 0.50 s of tasks"
    assert second.moved_state == f"{words}: 0.25 batches, 0.12 expected"
    assert third.moved_state == words
    assert decision(second).endswith(second.moved_state)


def test_a_run_tells_which_batches_were_looked_at(tmp_path: Path) -> None:
    look = {"how": "rows kept", "reason": "it pays", "seconds": 0.25, "rows": 60, "exact": True}
    line = {**event(0, [30, 10, 10, 10]), "look": look}
    first = read_run(checkpoint(tmp_path / "ck", line)).batches[0]
    assert (first.look, first.look_seconds) == ("it pays", 0.25)


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
    (batch,) = figures_of([event(0, [1, 1], reduce_tasks=5)], splits_keys=True)
    assert batch.tasks == 7


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        pytest.param(lambda p: p / "nix", "no such checkpoint", id="no directory"),
        pytest.param(lambda p: p, "has no event log", id="not a checkpoint"),
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
    with pytest.raises(CorruptState, match=r"events/ is damaged: the line of batch 4"):
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"loads": "x"}, "cannot be read", id="loads that are no numbers"),
        pytest.param({"loads": None}, "not a number per lane", id="loads that are no list"),
        pytest.param({"loads": [[1.0]]}, "not a number per lane", id="lanes of lanes"),
        pytest.param({"seconds": {}}, "has no 'total'", id="a time that is missing"),
        pytest.param({"hottest": [{"key": "/a", "share": "x"}]}, "cannot be read", id="no number"),
    ],
)
def test_a_line_that_cannot_be_used_is_damage(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CorruptState, match=words):
        figures_of([event(0, [1, 1]) | change], splits_keys=True)


def test_the_newest_batches_are_read_with_those_that_have_no_rows(tmp_path: Path) -> None:
    quiet = {name: value for name, value in event(3, [0, 0]).items() if name not in COUNTED}
    lines = [event(batch, [4, 2], watermark="2026-01-01") for batch in range(3)]
    place = checkpoint(tmp_path / "ck", *lines, quiet, operation="apply")
    run = newest_run(place, 2)
    assert run is not None
    assert run.name == f"{place} (trim)"
    assert run.numbers == [2, 3]
    seen, unseen = run.batches
    assert (seen.bound, seen.rows, seen.watermark) == (3.0, 6, "2026-01-01")
    assert (unseen.rows, unseen.distinct, unseen.total, unseen.loads.size) == (None, None, 0.0, 2)


def test_before_the_first_batch_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert newest_run(tmp_path, 5) is None
    assert newest_run(tmp_path / "not made yet", 5) is None


def test_a_checkpoint_may_be_named_by_its_address(tmp_path: Path) -> None:
    place = checkpoint(tmp_path / "c k", event(0, [1, 1]))
    # As Spark takes it: nothing in an address is unescaped.
    assert read_run(f"file://{place}").name == "c k (trim)"
    assert checkpoint_store(f"file:{place}").uri == f"file://{place}"


def test_names_of_keys_can_be_left_out(tmp_path: Path) -> None:
    known = "0x00000000000000ff"
    hottest = [{"key": "ann", "share": 0.5}, {"key": known, "share": 0.1}]
    place = checkpoint(tmp_path / "ck", event(0, [30, 10], hottest=hottest))
    names = [name for name, _ in read_run(place, names="hash").batches[0].hottest]
    assert names == [f"{int(hash_keys(['ann'])[0]):#018x}", known]
    assert [name for name, _ in read_run(place).batches[0].hottest] == ["ann", known]


STRAGGLERS = [
    {"lane": 2, "seconds": 3.0, "over": 1.8, "cause": "hot key", "executor": "m1/0", "key": "ann"},
    {"lane": 1, "seconds": 2.0, "over": 1.3, "cause": "slow machine", "executor": "m2/1"},
]


def test_a_run_tells_whom_others_waited_for(tmp_path: Path) -> None:
    line = {**event(0, [30, 10, 10, 10]), "stragglers": STRAGGLERS}
    place = checkpoint(tmp_path / "ck", line)
    told = read_run(place).batches[0].straggler
    assert told == "hot key ann: lane 2 on m1/0 took 3.00 s, 1.8 times the mean"
    hidden = read_run(place, names="hash").batches[0].straggler
    assert hidden is not None
    assert "ann" not in hidden
    assert hidden.startswith("hot key 0x")


def test_a_slow_machine_has_no_key(tmp_path: Path) -> None:
    line = {**event(0, [30, 10, 10, 10]), "stragglers": STRAGGLERS[1:]}
    told = read_run(checkpoint(tmp_path / "ck", line)).batches[0].straggler
    assert told == "slow machine: lane 1 on m2/1 took 2.00 s, 1.3 times the mean"
