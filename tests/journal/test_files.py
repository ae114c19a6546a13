from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import InvalidArgument
from trimtab.journal.files import local_path, sync_directory, write_whole


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", "old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a", 5)  # type: ignore[arg-type]
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize(
    "where", ["s3://bucket/ck", "hdfs://host/ck", "dbfs:/mnt/ck", "hdfs:/ck", "s3a:/b", "", 5, None]
)
def test_places_where_nothing_can_be_renamed_are_refused(where: object) -> None:
    with pytest.raises(InvalidArgument, match="checkpoint must be a"):
        local_path(where, "checkpoint")


def test_a_file_is_written_with_its_directories_and_leaves_no_part(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b" / "c.json", "ünïcode")
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["c.json"]
    assert (tmp_path / "a" / "b" / "c.json").read_text(encoding="utf-8") == "ünïcode"
    sync_directory(tmp_path / "a" / "b")


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("/data/a b", id="a path"),
        pytest.param(Path("/data/a b"), id="a path object"),
        pytest.param("file:///data/a%20b", id="an address"),
        pytest.param("file:/data/a%20b", id="an address with one slash"),
        pytest.param("file://localhost/data/a%20b", id="an address of this machine"),
    ],
)
def test_places_on_this_machine_are_paths(where: object) -> None:
    assert local_path(where, "checkpoint") == Path("/data/a b")
