"""What only Hadoop has: a JVM, leftovers of a rename, file systems that do not keep their word."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import CorruptState, InvalidArgument, NotThere, StoreFailed
from trimtab.journal.store.base import WRITING_FOR_LONG
from trimtab.journal.store.hadoop import HadoopStore
from trimtab.journal.store.local import LocalStore


class Remote:
    """A session as Spark Connect has it: there is no JVM to be asked for."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __repr__(self) -> str:
        return "a session of Spark Connect"


@pytest.mark.parametrize("session", [None, Remote()])
def test_without_a_classic_session_the_error_says_what_to_do(session: Any) -> None:
    with pytest.raises(InvalidArgument, match="can only be opened by Hadoop inside of a Spark Cla"):
        HadoopStore("hdfs:/ck", session)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("where", "words"),
    [
        pytest.param("nonsense:/ck", "No FileSystem for scheme", id="a scheme nobody knows"),
        pytest.param("hdfs:/ck", "no-such-host", id="on a default host that does not exist"),
    ],
)
def test_a_place_that_hadoop_cannot_open_is_an_error_with_its_words(
    lost_session: Any, where: str, words: str
) -> None:
    with pytest.raises(StoreFailed, match=words):
        HadoopStore(where, lost_session)


@pytest.mark.spark
def test_the_address_reads_as_hadoop_understood_it(lost_session: Any, tmp_path: Path) -> None:
    odd = tmp_path / "a b, %41:c"
    store = HadoopStore(f"file://{odd}/", lost_session)
    store.create("x/y", b"1")
    assert store.uri == f"file:{odd}"
    assert store.list("x") == ["x/y"]
    assert (odd / "x" / "y").is_dir()


@pytest.mark.spark
def test_the_uri_of_a_local_store_is_the_same_directory_for_hadoop(
    lost_session: Any, tmp_path: Path
) -> None:
    local = LocalStore(tmp_path / "a %20b")
    HadoopStore(local.uri, lost_session).create("x", b"")
    assert (tmp_path / "a %20b" / "x").is_dir()


@pytest.mark.spark
def test_two_contents_of_one_name_are_refused(lost_session: Any, tmp_path: Path) -> None:
    store = HadoopStore(f"file:{tmp_path}", lost_session)
    store.create("epochs/1", b"mine")
    (tmp_path / "epochs" / "1" / f"whole-5-{'0' * 32}").write_bytes(b"yours")
    with pytest.raises(CorruptState, match="epochs/1 was created by two writers at once"):
        store.read("epochs/1")
    with pytest.raises(CorruptState):
        store.create("epochs/1", b"again")


@pytest.mark.spark
def test_a_content_that_is_short_is_not_there(lost_session: Any, tmp_path: Path) -> None:
    short = tmp_path / "epochs" / "1" / f"whole-5-{'0' * 32}"
    short.parent.mkdir(parents=True)
    short.write_bytes(b"shor")
    with pytest.raises(NotThere):
        HadoopStore(f"file:{tmp_path}", lost_session).read("epochs/1")


@pytest.mark.spark
def test_objects_are_readable_by_their_owner_only(lost_session: Any, tmp_path: Path) -> None:
    HadoopStore(f"file:{tmp_path}/ck", lost_session).create("state/1", b"names of people")
    assert os.stat(tmp_path / "ck" / "state" / "1").st_mode & 0o777 == 0o700


@pytest.mark.spark
def test_what_a_dead_writer_left_is_removed_after_a_day_and_not_before(
    lost_session: Any, tmp_path: Path
) -> None:
    HadoopStore(f"file:{tmp_path}", lost_session).create("a", b"")
    old, young = tmp_path / ".writing" / "old", tmp_path / ".writing" / "young"
    for path in (old, young):
        path.mkdir()
        (path / "whole-0-x").touch()
    past = time.time() - WRITING_FOR_LONG - 60
    os.utime(old, (past, past))
    HadoopStore(f"file:{tmp_path}", lost_session).create("b", b"")
    assert not old.exists()
    assert young.exists()


@pytest.mark.spark
def test_files_that_others_put_there_are_not_listed_and_do_no_harm(
    lost_session: Any, tmp_path: Path
) -> None:
    store = HadoopStore(f"file:{tmp_path}", lost_session)
    store.create("state/1", b"")
    (tmp_path / "panes" / "empty").mkdir(parents=True)
    (tmp_path / "panes" / "part-0.parquet").touch()
    assert store.list("") == ["state/1"]
    assert store.list("panes/") == []
