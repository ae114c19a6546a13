from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trimtab.cli.files import format_of, read_columns
from trimtab.errors import InvalidArgument


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.parquet", "parquet"),
        ("a.pq", "parquet"),
        ("a.CSV", "csv"),
        ("a.csv.gz", "csv"),
        ("a.json", "json"),
        ("a.jsonl", "json"),
        ("a.ndjson", "json"),
    ],
)
def test_the_format_is_told_by_the_name(name: str, form: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert format_of(tmp_path / name, None) == form
    assert format_of(tmp_path, None) == form  # a directory is what its files are
    assert format_of(tmp_path / name, "csv") == "csv"


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        pytest.param("nix.csv", None, "no such file or directory", id="no file"),
        pytest.param("data.bin", None, "say --format parquet, csv or json", id="no known ending"),
        pytest.param("data.bin", "xml", "format must be one of", id="no known format"),
    ],
)
def test_a_format_that_cannot_be_told(
    name: str, given: str | None, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "data.bin").touch()
    with pytest.raises(InvalidArgument, match=sentence):
        format_of(tmp_path / name, given)


def test_only_the_columns_that_are_asked_for_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"page": ["/a", "/b"], "user": [1, 2], "price": [0.5, 1.5]}), path)
    assert read_columns(path, ["user", "page"]).to_pydict() == {
        "user": [1, 2],
        "page": ["/a", "/b"],
    }
    with pytest.raises(InvalidArgument, match=r"no column 'nix'; it has page, user, price"):
        read_columns(path, ["page", "nix"])


def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(InvalidArgument, match=r"cannot read .*a\.parquet as parquet"):
        read_columns(tmp_path / "a.parquet", ["page"])
