"""Several logs read as one: what is new, what a task reads, what may be forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.receive.written_logs import rows_of, write_batch, write_log, write_two_logs
from trimtab.errors import CorruptState, InvalidArgument, NotThere
from trimtab.receive.log import Log
from trimtab.receive.processed import note_processed
from trimtab.receive.reading import POSITION, LogReader


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    return write_two_logs(tmp_path)


def read(reader: LogReader, start: object, end: object) -> list[list[int]]:
    """Return the values that each part holds."""
    parts = json.loads(json.dumps(reader.parts(start, end)))
    return [pa.Table.from_batches(list(reader.read(part)))["x"].to_pylist() for part in parts]


def test_every_row_is_read_once_whatever_the_steps(logs: list[str]) -> None:
    wanted = [x for number in (0, 1, 2, 7) for x in rows_of(number)["x"].to_pylist()]
    for most, steps in ((None, 1), (1, 3), (2, 2)):
        reader = LogReader(logs, most)
        found: list[int] = []
        position, taken = reader.first(), 0
        while (following := reader.after(position)) != position:
            found += [x for part in read(reader, position, following) for x in part]
            position, taken = following, taken + 1
        assert sorted(found) == sorted(wanted)
        assert taken == steps
        assert position == reader.newest() == {POSITION: {logs[0]: 2, logs[1]: 0}}


def test_batches_that_wait_are_read_by_as_many_tasks_as_one(logs: list[str]) -> None:
    reader = LogReader(logs[:1])
    start, one, all_three = ({POSITION: {logs[0]: n}} for n in (-1, 0, 2))
    assert len(reader.parts(start, one)) == len(reader.parts(start, all_three)) == 4
    sizes = [len(part) for part in read(reader, start, all_three)]
    assert max(sizes) <= 1.1 * sum(sizes) / 4
    assert reader.parts(one, one) == []


def test_a_log_that_is_added_is_read_from_its_first_batch(logs: list[str]) -> None:
    before = {POSITION: {logs[0]: 2}}
    reader = LogReader(logs)
    assert reader.after(before) == {POSITION: {logs[0]: 2, logs[1]: 0}}
    assert sum(map(len, read(reader, before, reader.newest()))) == 400


def test_what_comes_later_is_not_seen_once_the_reader_stops(logs: list[str]) -> None:
    reader = LogReader(logs[:1])
    reader.stop_at_newest()
    write_batch(Path(logs[0]), 3)
    assert reader.after(reader.first()) == {POSITION: {logs[0]: 2}}
    assert LogReader(logs[:1]).after() == {POSITION: {logs[0]: 3}}


def test_a_commit_tells_how_long_the_batches_took(logs: list[str]) -> None:
    note_processed(logs[0], 1, 1.5, 800)
    LogReader(logs).commit({POSITION: {logs[0]: 1, logs[1]: -1}})
    (marker,) = Path(logs[0], "committed").iterdir()
    assert int(marker.name) == 1
    assert json.loads(marker.read_text()) == {"seconds": 1.5, "rows": 800}
    assert not Path(logs[1], "committed").exists() or not list(Path(logs[1], "committed").iterdir())


def test_a_block_that_is_not_whole_is_refused_by_name(logs: list[str]) -> None:
    reader = LogReader(logs[:1])
    part = reader.parts(reader.first(), reader.newest())[2]
    (file,) = Path(logs[0], "batches", f"{1:020d}").glob("r-00002-*")
    whole = file.read_bytes()
    for harmed, says in ((None, "is missing"), (whole[:-9], "bytes"), (whole[:-1] + b"?", "alter")):
        file.unlink()
        if harmed is not None:
            file.write_bytes(harmed)
        with pytest.raises(CorruptState, match=f"{file.name}.*{says}"):
            list(reader.read(part))
        file.write_bytes(whole)
    assert len(list(reader.read(part))) == 3


def test_a_batch_that_another_query_has_let_go_is_refused_with_the_reason(
    logs: list[str],
) -> None:
    reader = LogReader(logs[:1])
    start = reader.first()
    LogReader(logs[:1]).commit({POSITION: {logs[0]: 1}})
    assert Log.open(logs[0]).forget_committed() == [0, 1]
    with pytest.raises(NotThere, match=r"batch 0 of log .* another query reads this log"):
        reader.parts(start, reader.newest())
    assert len(reader.parts(reader.first(), reader.newest())) == 4


def test_logs_that_do_not_belong_together_are_refused(logs: list[str], tmp_path: Path) -> None:
    other = str(write_log(tmp_path / "other", "k string, y double"))
    with pytest.raises(InvalidArgument, match="must agree in both"):
        LogReader([logs[0], other])
    with pytest.raises(InvalidArgument, match="given twice"):
        LogReader([logs[0], logs[0] + "/../a"])
    with pytest.raises(InvalidArgument, match="at least one log"):
        LogReader([])
    for columns in ("a string", "k string, x double, ts timestamp"):
        with pytest.raises(InvalidArgument, match=f"asked for '{columns}'; give no schema"):
            LogReader.of_options({"path": logs[0]}, columns)
    LogReader.of_options({"path": logs[0]}, "`k` string, x bigint, ts timestamp")
    with pytest.raises(InvalidArgument, match="give the directory of a log"):
        LogReader.of_options({})


def test_positions_that_do_not_fit_the_logs_are_refused(logs: list[str]) -> None:
    reader = LogReader(logs[:1])
    with pytest.raises(InvalidArgument, match="has read log"):
        reader.after({POSITION: {logs[1]: 0}})
    with pytest.raises(CorruptState, match="was replaced"):
        reader.after({POSITION: {logs[0]: 9}})
    reader.stop_at_newest()
    with pytest.raises(CorruptState, match="was replaced"):
        reader.after({POSITION: {logs[0]: 9}})
    with pytest.raises(CorruptState, match="no position in a log"):
        reader.after({"offset": 3})
    with pytest.raises(CorruptState, match="a batch for each path"):
        reader.after({POSITION: {logs[0]: "3"}})
