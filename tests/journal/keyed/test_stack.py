"""A stack of files answers as a dictionary does, with few files and little writing."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.journal.keyed.tables import SCHEMA, Entry, table
from tests.journal.store.places import S3Place
from tests.journal.store.s3_server import Shelf
from tests.reference.keyed_state import PlainStates
from trimtab.errors import CorruptState
from trimtab.journal.keyed.lane_file import LaneFile
from trimtab.journal.keyed.stack import GONE, Stack
from trimtab.journal.store.local import LocalStore


def changes(rng: np.random.Generator, keys: int, count: int) -> list[Entry]:
    chosen = rng.choice(keys, count, replace=False)
    kinds = rng.choice([0, 1, 1, 1, 2], count)
    times = np.where(kinds == 0, -1, rng.choice([-1, 10, 20, 30], count))
    # Every third hash has a second key.
    return [
        (int(k) // 2 * 3 if k % 3 else int(k), int(k) % 2, int(kind), int(time), int(k) * 100)
        for k, kind, time in zip(chosen, kinds, times, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_it_answers_as_a_dictionary_does(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    store, plain = LocalStore(tmp_path), PlainStates()
    files: tuple[LaneFile, ...] = ()
    for batch in range(25):
        stack = Stack(store, files, SCHEMA)
        new = list({(h, c): (h, c, *rest) for h, c, *rest in changes(rng, 300, 40)}.values())
        stack.add(table(new))
        for h, c, kind, time, value in new:
            plain.put((h, c), kind, time, value)
        due = stack.timed_out(25)
        found = sorted(zip(due["hash"].to_pylist(), due["check"].to_pylist(), strict=True))
        assert found == plain.timed_out(25)
        files = stack.written(f"keyed/{batch}-0.arrow", lane=seed)
    stack = Stack(store, files, SCHEMA)
    asked = [(h, c) for h in range(-1, 450) for c in (0, 1)]
    hashes, checks = (np.array(part, dtype=np.int64) for part in zip(*asked, strict=True))
    answer = stack.look_up(hashes, checks)
    for row, key in enumerate(asked):
        kind, time, value = plain.held.get(key, (GONE, -1, None))
        assert answer.kinds[row] == kind
        if kind:
            assert answer.timeouts[row] == time
            assert answer.table["state:v"][row].as_py() == value
    live = stack.live()
    assert sorted(zip(live["hash"].to_pylist(), live["check"].to_pylist(), strict=True)) == sorted(
        plain.held
    )


def test_files_are_few_and_entries_are_rarely_written_again(tmp_path: Path) -> None:
    store, rng = LocalStore(tmp_path), np.random.default_rng(1)
    batches, active = 300, 50
    worst = 0
    for lane in range(3):
        files: tuple[LaneFile, ...] = ()
        written = 0
        for batch in range(batches):
            stack = Stack(store, files, SCHEMA)
            keys = rng.choice(20_000, active, replace=False)
            stack.add(table([(int(k), 0, 1, -1, batch) for k in keys]))
            files = stack.written(f"keyed/{batch}-{lane}.arrow", lane)
            written += files[0].rows
            worst = max(worst, len(files))
        # Sizes grow at least by half from file to file.
        assert worst <= math.log(batches, 1.5) + 1
        assert written <= batches * active * math.log(batches, 1.5)


def test_keys_that_belong_elsewhere_are_found_once_with_their_newest_state(tmp_path: Path) -> None:
    stack = Stack(LocalStore(tmp_path), (), SCHEMA)
    stack.add(table([(1, 0, 1, -1, 10), (2, 0, 1, -1, 20), (3, 0, 1, -1, 30)]))
    stack.add(table([(1, 0, 1, 7, 11), (3, 0, 0, -1, 0)]))
    left = stack.leaving(0, lambda hashes: (hashes % 2).astype(np.int32))
    assert left["state:v"].to_pylist() == [11]


def test_a_new_field_is_null_in_old_files(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    stack = Stack(store, (), SCHEMA)
    stack.add(table([(1, 0, 1, -1, 10)]))
    files = stack.written("keyed/0-0.arrow", 0)
    wider = Stack(store, files, SCHEMA.append(pa.field("state:w", pa.string())))
    found = wider.look_up(np.array([1]), np.array([0]))
    assert found.table.select(["state:v", "state:w"]).to_pylist() == [
        {"state:v": 10, "state:w": None}
    ]


def test_removed_keys_leave_no_trace_at_the_bottom(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    stack = Stack(store, (), SCHEMA)
    stack.add(table([(1, 0, 1, -1, 10)]))
    files = stack.written("keyed/0-0.arrow", 0)
    stack = Stack(store, files, SCHEMA)
    stack.add(table([(1, 0, 0, -1, 0)]))
    assert stack.written("keyed/1-0.arrow", 0) == ()


def test_a_stack_without_one_of_its_files_is_refused(tmp_path: Path) -> None:
    missing = LaneFile("keyed/9-0.arrow", 1, 1, 1, -1)
    with pytest.raises(CorruptState, match=r"keyed/9-0\.arrow is missing"):
        Stack(LocalStore(tmp_path), (missing,), SCHEMA)


def test_a_stack_works_in_an_object_store_and_refuses_what_is_gone_there(shelf: Shelf) -> None:
    store = S3Place(shelf).open()
    files: tuple[LaneFile, ...] = ()
    for batch in range(3):
        stack = Stack(store, files, SCHEMA)
        stack.add(table([(batch, 0, 1, -1, batch * 10), (7, 0, 1, -1, batch)]))
        files = stack.written(f"keyed/{batch}-0.arrow", 0)
    found = Stack(store, files, SCHEMA).look_up(np.array([0, 1, 7]), np.array([0, 0, 0]))
    assert found.table["state:v"].to_pylist() == [0, 10, 2]
    other = LaneFile("keyed/9-0.arrow", 1, 1, 1, -1)
    with pytest.raises(CorruptState, match=r"keyed/9-0\.arrow is missing"):
        Stack(store, (other,), SCHEMA)
