"""A lane file that is missing, cut or altered is refused by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.keyed.tables import table
from trimtab.errors import CorruptState
from trimtab.journal.keyed.entries import sorted_entries
from trimtab.journal.keyed.lane_file import LaneFile, open_lane_file, write_lane_file
from trimtab.journal.store.local import LocalStore

NAME = "keyed/0000000000-0-a.arrow"


@pytest.fixture
def written(tmp_path: Path) -> tuple[LocalStore, LaneFile]:
    store = LocalStore(tmp_path)
    entries = sorted_entries([table([(h, 0, 1, 50 + h, h) for h in range(100)])])
    return store, write_lane_file(store, NAME, entries)


def test_what_is_written_is_read_back(written: tuple[LocalStore, LaneFile]) -> None:
    store, file = written
    assert file == LaneFile.from_record(file.to_record())
    assert (file.rows, file.least_timeout) == (100, 50)
    assert open_lane_file(store, file).table["state:v"].to_pylist() == list(range(100))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def altered(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        pytest.param(Path.unlink, "is missing", id="missing"),
        pytest.param(cut, "bytes, and the manifest", id="cut"),
        pytest.param(emptied, "has 0 bytes", id="empty"),
        pytest.param(altered, "checksum", id="altered by one bit"),
    ],
)
def test_a_spoiled_file_is_refused_by_name_even_if_it_was_open(
    written: tuple[LocalStore, LaneFile], spoil: Callable[[Path], None], words: str
) -> None:
    store, file = written
    open_lane_file(store, file)
    spoil(store.root / NAME)
    with pytest.raises(CorruptState, match=words) as refused:
        open_lane_file(store, file)
    assert NAME in str(refused.value)
