"""Files as Spark writes and reads them, at the place of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journal.store.places import Place, S3Place
from trimtab.errors import AlreadyThere, NotThere
from trimtab.journal.store import store


def test_files_are_written_read_listed_and_removed(place: Place) -> None:
    files = place.open()
    assert files.entries() == set()
    assert files.sizes("") == {}
    files.write_file("out/part-1.parquet", b"0123456789")
    files.write_file("out/deep/part-2.parquet", b"")
    files.create("state/7", b"an object")
    assert place.open().sizes("out") == {"out/deep/part-2.parquet": 0, "out/part-1.parquet": 10}
    assert place.open().entries() == {"out", "state"}
    assert place.open().entries("out") == {"deep", "part-1.parquet"}
    assert place.open().entries("none") == set()
    assert files.read_file("out/part-1.parquet", 7) == b"789"
    ends = files.ends({"out/part-1.parquet": 9, "out/deep/part-2.parquet": 0})
    assert ends == [b"9", b""]
    with pytest.raises(AlreadyThere):
        files.write_file("out/part-1.parquet", b"other")
    assert files.read_file("out/part-1.parquet") == b"0123456789"
    files.remove_file("out/part-1.parquet")
    files.remove_file("out/part-1.parquet")
    with pytest.raises(NotThere, match=r"part-1\.parquet is not there"):
        files.read_file("out/part-1.parquet")
    files.remove_folder("out")
    files.remove_folder("out")
    assert files.sizes("out") == {}
    assert files.read("state/7") == b"an object"
    # The folder can be made anew.
    files.create("out/object", b"")
    assert files.list("out/") == ["out/object"]


def test_what_spark_passes_by_is_passed_by(place: Place) -> None:
    files = place.open()
    for name in ("_SUCCESS", ".part-0.crc", "_temporary/part-0", "part-0"):
        files.write_file(f"out/{name}", b"")
    assert list(files.sizes("out")) == ["out/part-0"]
    files.write_file("_spark_metadata/0", b"")
    assert list(files.sizes("_spark_metadata")) == ["_spark_metadata/0"]
    assert "_spark_metadata" in files.entries()


def test_names_up_to_one_are_left_out(place: Place) -> None:
    files = place.open()
    for number in range(12):
        files.write_file(f"part-batch-{number:010d}-x.parquet", b"")
    if isinstance(place, S3Place):
        # The server is not asked for what is not wanted.
        place.shelf.page = 1
    found = files.sizes("", after="part-batch-0000000010-")
    assert list(found) == [f"part-batch-{number:010d}-x.parquet" for number in (10, 11)]
    if isinstance(place, S3Place):
        assert place.shelf.listings <= 3


def test_results_are_for_whom_the_owner_lets_see_them(tmp_path: Path) -> None:
    files = store(tmp_path / "out")
    files.write_file("_spark_metadata/0", b"")
    usual = tmp_path / "usual"
    usual.mkdir()
    (usual / "file").touch()
    for made, like in (
        ("", usual),
        ("_spark_metadata", usual),
        ("_spark_metadata/0", usual / "file"),
    ):
        assert (tmp_path / "out" / made).stat().st_mode == like.stat().st_mode
