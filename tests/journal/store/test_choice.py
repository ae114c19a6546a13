"""Which store an address leads to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import InvalidArgument
from trimtab.journal.store import store
from trimtab.journal.store.hadoop import HadoopStore
from trimtab.journal.store.local import LocalStore
from trimtab.journal.store.objects import ObjectStore


@pytest.mark.parametrize(
    ("where", "root"),
    [
        pytest.param("/data/ck", "/data/ck", id="a path"),
        pytest.param(Path("/data/ck"), "/data/ck", id="a Path"),
        pytest.param("/data/ck/", "/data/ck", id="a path with a slash at its end"),
        pytest.param("/data/../ck", "/ck", id="a path with a detour"),
        pytest.param("/data/a:b/c", "/data/a:b/c", id="a colon further on"),
        pytest.param("file:/data/ck", "/data/ck", id="file: with one slash"),
        pytest.param("file:///data/ck", "/data/ck", id="file: with three"),
        pytest.param("file://localhost/data/ck", "/data/ck", id="this machine by name"),
        pytest.param("FILE:/data/ck", "/data/ck", id="capitals"),
        pytest.param("file:/a%20b", "/a%20b", id="nothing is unescaped, as in Spark"),
    ],
)
def test_paths_and_file_addresses_lead_to_the_disk(where: Any, root: str) -> None:
    found = store(where)
    assert isinstance(found, LocalStore)
    assert str(found.root) == root
    assert found.uri == f"file://{root}"
    again = store(found.uri)
    assert isinstance(again, LocalStore)
    assert again.root == found.root


def test_a_relative_path_is_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert store("ck").uri == f"file://{tmp_path}/ck"
    assert store("./run:1").uri == f"file://{tmp_path}/run:1"


@pytest.mark.parametrize(
    "where",
    [
        "s3://bucket/ck",
        "s3a://bucket/ck",
        "gs://bucket/ck",
        "az://container/ck",
        "abfs://container@account.dfs.core.windows.net/ck",
        "abfss://container@account.dfs.core.windows.net/ck",
    ],
)
def test_addresses_of_object_stores_need_no_spark(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An az:// address does not name its account.
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    found = store(where)
    assert isinstance(found, ObjectStore)
    assert found.uri == where


@pytest.mark.parametrize(
    "where", ["hdfs:/ck", "hdfs://host:8020/ck", "dbfs:/mnt/ck", "viewfs://c/x"]
)
def test_all_other_addresses_ask_for_a_session(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match="can only be opened through Spark; give a Spark Cla"):
        store(where)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_with_a_session_they_lead_to_hadoop(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("fs.viewfs.mounttable.cluster.link./data", f"file:{tmp_path}")
    found = store("viewfs://cluster/data/ck", session)
    assert isinstance(found, HadoopStore)
    assert found.uri == "viewfs://cluster/data/ck"
    found.create("state/1", b"x")
    assert found.list("") == ["state/1"]
    assert HadoopStore(f"file:{tmp_path}/ck", session).read("state/1") == b"x"
    found.remove("state/1")
    assert found.list("") == []


@pytest.mark.parametrize(
    ("where", "words"),
    [
        pytest.param("s3a:/b", "names no bucket; write s3a://bucket/path", id="S3 with one slash"),
        pytest.param("hdfs:ck", "has no slash after the colon", id="an address without a slash"),
        pytest.param("run:1", r"\./run:1 for a directory of that name", id="a colon in a name"),
        pytest.param("file://host/ck", "names the host 'host'", id="a file of another machine"),
        pytest.param("", "must be at a directory or an address", id="nothing"),
        pytest.param(None, "got None", id="None"),
        pytest.param("a\nb", "must be at a directory or an address", id="two lines"),
    ],
)
def test_what_leads_nowhere_is_refused(
    where: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match=words):
        store(where)
    assert list(tmp_path.iterdir()) == []


def test_options_are_for_object_stores(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="takes no options; got region"):
        store(tmp_path, region="x")
