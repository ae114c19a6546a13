from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.journal.store.places import Place
from trimtab.errors import CorruptState, InvalidArgument, TakenOver
from trimtab.journal.checkpoint import KEPT_BATCHES, Checkpoint, identity_of
from trimtab.journal.manifest import Manifest
from trimtab.journal.store import store
from trimtab.journal.store.local import LocalStore

QUERY = {"operation": "aggregate", "keys": ["user"], "window": 5}


def opened(where: Path, **changes: Any) -> Checkpoint:
    made = Checkpoint(where, {**QUERY, **changes})
    made.open()
    return made


def test_a_checkpoint_is_the_same_query_when_it_is_opened_again(tmp_path: Path) -> None:
    first = Checkpoint(tmp_path / "ck", QUERY).open()
    assert Checkpoint(f"file://{tmp_path}/ck", QUERY).open() == first


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"window": 6}, "its window is 5, here it is 6", id="another window"),
        pytest.param({"keys": ["shop"]}, "its keys is ['user']", id="another key"),
        pytest.param({"operation": "apply"}, "its operation is 'aggregate'", id="another task"),
    ],
)
def test_a_checkpoint_of_another_query_is_refused_by_name(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    opened(tmp_path)
    with pytest.raises(CorruptState) as refusal:
        opened(tmp_path, **change)
    assert "meta.json belongs to another query" in str(refusal.value)
    assert words in str(refusal.value)


def test_a_directory_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CorruptState, match=r"holds .thesis\.tex."):
        opened(tmp_path)


def test_what_was_written_is_read_back_and_the_last_batch_is_known(place: Place) -> None:
    query = Checkpoint(place.open(), QUERY).open()
    made = Checkpoint(place.open(), QUERY)
    assert made.open() == query
    assert made.last_state() == -1
    assert made.read_plan(0) is None
    made.write_plan(0, {"lanes": 3})
    made.write_state(0, {"rows": 7})
    again = Checkpoint(place.open(), QUERY)
    assert again.read_plan(0) == {"lanes": 3, "kind": "plans", "batch": 0}
    assert again.last_state() == 0
    assert identity_of(place.open()) == QUERY


def test_files_that_were_mixed_up_are_refused_by_name(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.write_plan(4, {})
    (tmp_path / "plans" / "4.json").rename(tmp_path / "plans" / "5.json")
    with pytest.raises(CorruptState, match=r"5\.json holds the plans of batch 4"):
        made.read_plan(5)


def test_a_damaged_plan_is_refused_by_name(tmp_path: Path) -> None:
    made = opened(tmp_path)
    made.write_plan(4, {"lanes": 3})
    path = tmp_path / "plans" / "4.json"
    path.write_text(path.read_text().replace("3", "4"))
    with pytest.raises(CorruptState, match=r"4\.json is damaged"):
        made.read_plan(4)


def test_a_driver_that_was_taken_over_from_stops_before_it_writes(place: Place) -> None:
    first = Checkpoint(place.open(), QUERY)
    first.open()
    first.take_over()
    first.write_plan(0, {"x": 1})
    second = Checkpoint(place.open(), QUERY)
    second.open()
    first.write_state(0, {"x": 1})
    second.take_over()
    for write in (first.write_plan, first.write_state):
        with pytest.raises(TakenOver, match=f"'process {os.getpid()} on .*took epoch 2"):
            write(1, {"x": 2})
    second.write_plan(1, {"x": 3})
    plan = second.read_plan(1)
    assert plan is not None
    assert plan["x"] == 3
    # Spark's tasks of the two write to folders of their own.
    assert first.folder("panes", "7") != second.folder("panes", "7")


def test_what_another_driver_has_written_is_not_written_over(place: Place) -> None:
    first, second = Checkpoint(place.open(), QUERY), Checkpoint(place.open(), QUERY)
    first.open()
    first.write_plan(0, {"x": 1})
    with pytest.raises(TakenOver, match=r"plans/0\.json was written by another driver"):
        second.write_plan(0, {"x": 2})


def test_what_is_kept_is_for_the_owner_only(tmp_path: Path) -> None:
    made = Checkpoint(tmp_path / "ck", QUERY)
    made.open()
    made.write_plan(0, {"x": 1})
    assert (tmp_path / "ck").stat().st_mode & 0o077 == 0
    assert (tmp_path / "ck" / "plans" / "0.json").stat().st_mode & 0o077 == 0


def test_old_files_are_pruned_and_those_a_restart_needs_are_not(place: Place) -> None:
    made = Checkpoint(place.open(), QUERY)
    made.open()
    for batch in range(6):
        made.write_plan(batch, {})
        made.write_state(batch, {})
        made.store.create(f"{made.folder('routers', str(batch))}/ready/0.json", b"")
        folder = made.folder("panes", f"{batch:010d}")
        # What a job that was interrupted has left is not to be seen, and goes as well.
        made.store.write_file(f"{folder}/{'_temporary/' if batch == 2 else ''}part-0.parquet", b"")
        if batch != 2:
            Manifest(folder, {}).write(made.store)
    # What belongs to a batch that is yet to come is another driver's.
    kept = [made.folder("panes", name) for name in ("0000000004", "0000000005")]
    made.prune(4, kept[:1])
    left = {name.partition("-")[0] for name in made.store.entries("panes")}
    assert left == {"0000000004", "0000000005"}
    made.prune(5, kept)
    for kind in ("plans", "state", "routers"):
        names = [name.split("/")[1] for name in made.store.list(f"{kind}/")]
        numbers = [name.removesuffix(".json").partition("-")[0] for name in names]
        assert numbers == ["3", "4", "5"][-KEPT_BATCHES:]
    assert made.store.list("manifests/") == [f"manifests/{folder}.json" for folder in kept]


def test_the_identity_of_a_query_can_be_read_without_opening_it(tmp_path: Path) -> None:
    assert identity_of(store(tmp_path)) is None
    opened(tmp_path)
    assert identity_of(store(tmp_path)) == QUERY
    assert identity_of(store(f"file://{tmp_path}")) == QUERY


def test_an_identity_that_is_damaged_or_of_something_else_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).write_plan(0, {})
    (tmp_path / "plans" / "0.json").replace(tmp_path / "meta.json")
    with pytest.raises(CorruptState, match=r"meta\.json has the kind 'plans', not 'query'"):
        identity_of(store(tmp_path))
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(CorruptState, match=r"meta\.json is damaged"):
        identity_of(store(tmp_path))


def test_a_checkpoint_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ck").touch()
    with pytest.raises(InvalidArgument, match="is a file; give a directory"):
        Checkpoint(tmp_path / "ck", QUERY)


def test_files_of_keyed_state_stay_while_they_are_needed_or_another_driver_writes_them(
    tmp_path: Path,
) -> None:
    place = Checkpoint(tmp_path, {})
    store = LocalStore(tmp_path)
    names = [f"keyed/{batch:010d}-0-a.arrow" for batch in range(5)]
    for name in names:
        store.create(name, b"")
    place.keep_keyed(3, {names[1]})
    assert store.list("keyed/") == [names[1], names[4]]
