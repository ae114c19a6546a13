"""Keys and endpoints of object stores, as Spark's settings have them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journal.store.s3_server import BUCKET, Shelf
from trimtab.journal.store import store
from trimtab.journal.store.hadoop_settings import object_store_settings


class Conf(dict[str, str]):
    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name, default)


class Session:
    """A session as Spark Connect has it: settings, and no JVM."""

    def __init__(self, **settings: str) -> None:
        self.conf = Conf({name.replace("__", "."): value for name, value in settings.items()})


S3 = {"fs__s3a__access__key": "us", "fs__s3a__secret__key": "hidden"}


@pytest.mark.parametrize(
    ("where", "settings", "options"),
    [
        pytest.param("s3a://b/ck", {}, {}, id="without settings the environment decides"),
        pytest.param(
            "s3a://b/ck",
            S3,
            {"config": {"access_key_id": "us", "secret_access_key": "hidden"}},
            id="keys of S3",
        ),
        pytest.param(
            "s3://b/ck",
            {"spark__hadoop__fs__s3a__endpoint__region": "eu", "fs__s3a__bucket__c__endpoint": "x"},
            {"config": {"region": "eu"}},
            id="of the whole application, and not of another bucket",
        ),
        pytest.param(
            "s3a://b/ck",
            {"fs__s3a__endpoint": "all.example", "fs__s3a__bucket__b__endpoint": "b.example"},
            {"config": {"endpoint": "https://b.example"}},
            id="what is said of a bucket goes first",
        ),
        pytest.param(
            "s3a://b/ck",
            {"fs__s3a__endpoint": "near:9000", "fs__s3a__connection__ssl__enabled": "false"},
            {
                "config": {"endpoint": "http://near:9000"},
                "client_options": {"allow_http": True},
            },
            id="an endpoint without encryption",
        ),
        pytest.param(
            "abfss://c@a.dfs.core.windows.net/ck",
            {"fs__azure__account__key__a__dfs__core__windows__net": "k"},
            {"config": {"account_key": "k"}},
            id="the key of an account of Azure",
        ),
        pytest.param(
            "gs://b/ck",
            {"fs__gs__auth__service__account__json__keyfile": "/k.json"},
            {"config": {"service_account": "/k.json"}},
            id="the file of a service account of Google",
        ),
    ],
)
def test_settings_become_options(
    where: str, settings: dict[str, str], options: dict[str, Any]
) -> None:
    assert object_store_settings(where, Session(**settings)) == options


def test_without_a_session_or_a_bucket_there_are_none() -> None:
    assert object_store_settings("s3a://b/ck", None) == {}
    assert object_store_settings("s3a:/b", Session(**S3)) == {}


def test_a_store_is_opened_by_them(shelf: Shelf) -> None:
    session = Session(fs__s3a__endpoint=shelf.endpoint, fs__s3a__endpoint__region="us-east-1", **S3)
    place = store(f"s3a://{BUCKET}/ck", session)
    place.create("state/1", b"x")
    assert list(shelf.objects) == ["ck/state/1"]


@pytest.mark.spark
def test_a_classic_session_knows_the_clusters_files_of_settings(spark: Any) -> None:
    session = spark.newSession()
    session.conf.set("fs.s3a.access.key", "us")
    options = object_store_settings("s3a://b/ck", session)
    assert options["config"]["access_key_id"] == "us"
