"""What only object stores have: answers that get lost, pages, buckets, settings."""

from __future__ import annotations

import pickle

import pytest

from tests.journal.store.places import open_s3
from tests.journal.store.s3_server import Shelf
from trimtab.errors import AlreadyThere, InvalidArgument, NotThere, StoreFailed
from trimtab.journal.store import store
from trimtab.journal.store.objects import ObjectStore


def test_a_put_that_was_done_although_its_answer_got_lost_has_won(shelf: Shelf) -> None:
    place = open_s3("s3://bucket/ck", shelf.endpoint)
    shelf.trouble.append("lost answer")
    place.create("epochs/1", b"mine")
    assert place.read("epochs/1") == b"mine"


def test_a_put_that_comes_second_after_a_lost_answer_has_lost(shelf: Shelf) -> None:
    open_s3("s3://bucket/ck", shelf.endpoint).create("epochs/1", b"theirs")
    shelf.trouble.extend(["fine", "lost answer"])
    with pytest.raises(AlreadyThere):
        open_s3("s3://bucket/ck", shelf.endpoint).create("epochs/1", b"mine")


def test_a_conflict_that_nobody_has_won_is_tried_again(shelf: Shelf) -> None:
    place = open_s3("s3://bucket/ck", shelf.endpoint)
    shelf.trouble.extend(["conflict", "conflict"])
    place.create("epochs/1", b"mine")
    assert place.read("epochs/1") == b"mine"


def test_a_name_that_is_taken_and_free_for_ever_is_given_up(shelf: Shelf) -> None:
    place = open_s3("s3://bucket/ck", shelf.endpoint)
    shelf.trouble.extend(["conflict"] * 100)
    with pytest.raises(StoreFailed, match="taken and free again"):
        place.create("epochs/1", b"mine")
    assert shelf.objects == {}


def test_an_object_that_others_wrote_is_taken(shelf: Shelf) -> None:
    shelf.objects["ck/epochs/1"] = (b"by hand", {})
    with pytest.raises(AlreadyThere):
        open_s3("s3://bucket/ck", shelf.endpoint).create("epochs/1", b"mine")


def test_a_list_of_many_pages_is_whole(shelf: Shelf) -> None:
    shelf.page = 3
    place = open_s3("s3://bucket/ck", shelf.endpoint)
    names = [f"log/{number:02}" for number in range(20)]
    for name in names:
        place.create(name, b"")
    open_s3("s3://bucket/other", shelf.endpoint).create("log/99", b"")
    assert place.list("log/") == names
    assert place.list("log/1") == names[10:]


def test_a_bucket_that_is_not_there_is_an_error_where_something_is_written_or_listed(
    shelf: Shelf,
) -> None:
    place = open_s3("s3://no-bucket/ck", shelf.endpoint)
    with pytest.raises(StoreFailed, match="cannot create 'a' in s3://no-bucket/ck"):
        place.create("a", b"")
    with pytest.raises(StoreFailed, match="cannot list"):
        place.list("a/")
    with pytest.raises(NotThere):
        place.read("a")


def test_a_server_that_does_not_answer_is_an_error_of_one_sentence() -> None:
    place = ObjectStore(
        "s3://bucket/ck",
        access_key_id="any",
        secret_access_key="any",
        region="us-east-1",
        endpoint="http://127.0.0.1:9",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    with pytest.raises(StoreFailed, match="cannot create 'a' in s3://bucket/ck") as failure:
        place.create("a", b"")
    assert "\n" not in str(failure.value)


def test_the_path_in_a_bucket_is_taken_as_it_stands(shelf: Shelf) -> None:
    for where in ["s3a://bucket/a%20b", "s3://bucket/a b/", "s3://bucket/50%/#1?", "s3://bucket"]:
        open_s3(where, shelf.endpoint).create("x", b"")
    assert sorted(shelf.objects) == ["50%/#1?/x", "a b/x", "a%20b/x", "x"]


def test_settings_come_from_the_environment(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", shelf.endpoint)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    place = store("s3a://bucket/ck")
    place.create("a", b"x")
    assert list(shelf.objects) == ["ck/a"]
    assert place.uri == "s3a://bucket/ck"


def test_an_address_without_a_bucket_is_refused() -> None:
    for where in ["s3a:/b", "s3://", "gs:/b/c"]:
        with pytest.raises(InvalidArgument, match="names no bucket; write"):
            ObjectStore(where)


def test_a_setting_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="cannot be opened"):
        ObjectStore("s3://bucket/ck", no_such_setting="1")


def test_marks_that_hadoop_leaves_for_folders_are_no_files(shelf: Shelf) -> None:
    place = open_s3("s3://bucket/ck", shelf.endpoint)
    for key in ("ck/panes/", "ck/panes/1-1/", "ck/panes/2-1/"):
        shelf.objects[key] = (b"", {})
    place.write_file("panes/1-1/part-0.parquet", b"rows")
    place.write_file("panes/3-1/_temporary/part-0.parquet", b"")
    assert place.sizes("panes/1-1") == {"panes/1-1/part-0.parquet": 4}
    # One that holds nothing but its mark is gone already.
    assert place.folders("panes") == {"1-1", "3-1"}
    place.remove_folder("panes/3-1")
    place.remove_folder("panes/1-1")
    assert place.folders("panes") == set()


def test_a_store_travels_with_what_it_was_opened_by(shelf: Shelf) -> None:
    place = open_s3("s3://bucket/ck", shelf.endpoint)
    place.create("state/1", b"x")
    there = pickle.loads(pickle.dumps(place))  # noqa: S301 - it is our own
    assert there.read("state/1") == b"x"
    assert there.uri == place.uri
