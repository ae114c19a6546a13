from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from trimtab.errors import (
    AlreadyThere,
    CorruptState,
    InvalidArgument,
    NotThere,
    UnsupportedKeyType,
)
from trimtab.histogram import Histogram
from trimtab.receive.log import Log, batch_folder
from trimtab.receive.manifest import BatchManifest

SCHEMA = "k string, x long"


def table(*keys: str) -> pa.Table:
    columns = {"k": list(keys), "x": list(range(len(keys)))}
    return pa.table(columns, pa.schema({"k": pa.string(), "x": pa.int64()}))


def released(log: Log, batch: int, *blocks: pa.Table) -> BatchManifest:
    """Release a batch of these blocks, as a receiver called "west"."""
    written = log.write_blocks(batch, "west", blocks, "t")
    rows = sum(block.rows for block in written)
    manifest = BatchManifest(
        batch=batch,
        blocks=written,
        rows=rows,
        histogram_json=Histogram.from_counts({1: rows}).to_json(),
        plan_json=None,
        router="shuffle",
        opened=0.0,
        frozen=0.5,
        released=1.0,
        arrivals={"west": (0, rows)},
    )
    log.release(manifest)
    return manifest


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log.create(tmp_path / "log", schema=SCHEMA, key="k", blocks=2)


def test_blocks_are_read_as_they_were_written_and_empty_ones_have_no_file(log: Log) -> None:
    assert (log.newest(), log.oldest(), log.released()) == (-1, 0, [])
    released(log, 0, table("a", "b"), table(), table("c"))
    found = Log.open(log.path).manifest(0)
    assert [(block.block, block.rows) for block in found.blocks] == [(0, 2), (2, 1)]
    rows = [log.read_block(0, block).to_pylist() for block in found.blocks]
    assert rows == [[{"k": "a", "x": 0}, {"k": "b", "x": 1}], [{"k": "c", "x": 0}]]
    assert log.newest() == 0
    with pytest.raises(AlreadyThere):
        log.release(found)


def test_committed_batches_are_forgotten_and_their_numbers_are_not(log: Log) -> None:
    for batch in range(3):
        released(log, batch, table("a"))
    with pytest.raises(InvalidArgument, match=r"\[?0.*2"):
        log.commit(3)
    log.commit(0)
    log.commit(1, seconds=0.25, rows=7)
    log.commit(0, seconds=9.0)
    assert (log.committed().seconds, log.committed().rows, log.oldest()) == (0.25, 7, 2)
    assert log.forget_committed() == [0, 1]
    assert (log.released(), log.folders(), log.newest()) == ([2], [2], 2)
    assert log.store.entries("committed") == {f"{1:020d}"}
    log.commit(2)
    log.forget_committed()
    assert (log.newest(), log.oldest(), log.committed().seconds) == (2, 3, None)
    # The newest manifest says how far the receiver has come.
    assert (log.manifest(2).batch, log.folders()) == (2, [])
    with pytest.raises(NotThere, match=r"batches/0+1\.json"):
        log.manifest(1)


@pytest.mark.parametrize("harm", ["missing", "cut", "altered", "other columns"])
def test_a_block_that_is_not_what_was_written_is_refused_by_name(log: Log, harm: str) -> None:
    (block,) = released(log, 0, table("a", "b")).blocks
    path = log.path / batch_folder(0) / block.file
    data = path.read_bytes()
    if harm == "missing":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(data[:-1])
    elif harm == "altered":
        path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    else:
        block = log.write_blocks(1, "west", [table("a").rename_columns(["k", "y"])], "t")[0]
    words = {"missing": "is missing", "cut": "bytes, but", "other columns": "has columns k"}
    with pytest.raises(CorruptState, match=rf"{block.file}.*{words.get(harm, harm)}"):
        log.read_block(0 if harm != "other columns" else 1, block)


def test_manifests_that_were_mixed_up_and_strange_files_are_refused(log: Log) -> None:
    manifest = released(log, 0, table("a"))
    place = log.path / "batches"
    (place / f"{1:020d}.json").write_text(manifest.to_json())
    with pytest.raises(CorruptState, match="manifest of batch 0"):
        log.manifest(1)
    (place / "notes.txt").touch()
    with pytest.raises(CorruptState, match=r"notes\.txt is no part of a log"):
        log.folders()
    (log.path / "committed").mkdir()
    (log.path / "committed" / f"{0:020d}").write_text("[")
    with pytest.raises(CorruptState, match=r"committed.*damaged"):
        log.newest()


def test_a_log_keeps_its_schema_and_key_and_nothing_else(log: Log) -> None:
    again = Log.create(
        log.path, schema="k STRING, x bigint", key=["k"], blocks=5, interval=2.0, planner="trim"
    )
    assert Log.open(log.path) == again == replace(log, blocks=5, interval=2.0, planner="trim")
    with pytest.raises(InvalidArgument, match="was made with the schema 'k string, x long'"):
        Log.create(log.path, schema="k string, x int", key="k")
    with pytest.raises(InvalidArgument, match=r"was made with the key \('k',\)"):
        Log.create(log.path, schema=SCHEMA, key="x")


def test_what_makes_no_log_is_refused_at_the_call(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="which has k, x"):
        Log.create(tmp_path, schema=SCHEMA, key="y")
    with pytest.raises(InvalidArgument, match="blocks"):
        Log.create(tmp_path, schema=SCHEMA, key="k", blocks=0)
    with pytest.raises(InvalidArgument, match="interval"):
        Log.create(tmp_path, schema=SCHEMA, key="k", interval=0)
    with pytest.raises(UnsupportedKeyType, match="18 digits"):
        Log.create(tmp_path, schema="k decimal(20, 0)", key="k")
    assert not list(tmp_path.iterdir())
    with pytest.raises(NotThere, match=r"holds no log of a receiver: log\.json is missing"):
        Log.open(tmp_path)
    (tmp_path / "log.json").write_text('{"format": "trimtab.log", "version": 1}')
    with pytest.raises(CorruptState, match=r"log\.json is damaged"):
        Log.open(tmp_path)
