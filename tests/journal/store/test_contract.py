"""What every store promises, on a disk, in S3 and through Hadoop.

Hadoop's part runs in a session whose default file system does not exist. `TRIMTAB_TEST_S3` names
another S3 to run against, with a bucket called `bucket`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journal.conftest import Mount
from tests.journal.store.other import other_process
from tests.journal.store.places import OUTSIDE_S3, Place, S3Place
from trimtab.errors import AlreadyThere, InvalidArgument, NotThere, StoreFailed, TrimtabError

ODD_NAMES = [
    "with a space/and another",
    "naïve/日本/🙂",
    "שלום",
    "50%",
    "a%20b",
    "a+b&c=d",
    "a:b",
    "quote'\"`",
    "back\\slash",
    "[x]{y}*?#",
    ".hidden/_too",
    "comma, and; more",
]


def test_what_was_created_is_read_listed_and_removed(place: Place) -> None:
    store = place.open()
    assert store.list("") == []
    store.create("plans/0.json", b"zero")
    store.create("plans/1.json", b"one")
    assert place.open().read("plans/0.json") == b"zero"
    assert place.open().list("plans/") == ["plans/0.json", "plans/1.json"]
    store.remove("plans/0.json")
    assert place.open().list("") == ["plans/1.json"]
    with pytest.raises(NotThere, match=r"plans/0\.json is not there"):
        store.read("plans/0.json")


def test_a_name_is_created_once(place: Place) -> None:
    place.open().create("state/7", b"first")
    with pytest.raises(AlreadyThere, match="state/7 was created before"):
        place.open().create("state/7", b"second")
    assert place.open().read("state/7") == b"first"
    assert place.raw() == [b"first"]


def test_a_removed_name_can_be_created_again(place: Place) -> None:
    store = place.open()
    store.create("a", b"1")
    store.remove("a")
    store.create("a", b"2")
    assert store.read("a") == b"2"


def test_removing_twice_or_nothing_is_no_error(place: Place) -> None:
    store = place.open()
    store.remove("never/was")
    store.create("once", b"")
    store.remove("once")
    store.remove("once")
    assert store.list("") == []


def test_what_is_not_there_can_be_caught_as_python_programmers_would(place: Place) -> None:
    with pytest.raises(FileNotFoundError):
        place.open().read("nothing")
    place.open().create("something", b"")
    with pytest.raises(FileExistsError):
        place.open().create("something", b"")


@pytest.mark.parametrize("size", [0, 1, 10_000_000], ids=lambda size: f"{size} bytes")
def test_content_of_any_size_comes_back_to_the_bit(place: Place, size: int) -> None:
    data = os.urandom(size)
    place.open().create("object", data)
    assert place.open().read("object") == data


def test_odd_names_are_names(place: Place) -> None:
    store = place.open()
    for number, name in enumerate(ODD_NAMES):
        store.create(name, str(number).encode())
    assert store.list("") == sorted(ODD_NAMES)
    for number, name in enumerate(ODD_NAMES):
        assert store.read(name) == str(number).encode()
        assert name in store.list(name[:-1])
        store.remove(name)
    assert store.list("") == []


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        pytest.param("", ["a", "ab/1", "ab/10", "ab/2/x", "b"], id="nothing asked finds all"),
        pytest.param("a", ["a", "ab/1", "ab/10", "ab/2/x"], id="text need not end at a slash"),
        pytest.param("ab/", ["ab/1", "ab/10", "ab/2/x"], id="a folder"),
        pytest.param("ab/1", ["ab/1", "ab/10"], id="the beginning of names in a folder"),
        pytest.param("ab/2/", ["ab/2/x"], id="a folder in a folder"),
        pytest.param("c/d/", [], id="a folder that is not there"),
        pytest.param("a/", [], id="an object is no folder"),
    ],
)
def test_a_prefix_is_the_beginning_of_names(place: Place, prefix: str, found: list[str]) -> None:
    store = place.open()
    for name in ["b", "ab/10", "ab/1", "ab/2/x", "a"]:
        store.create(name, b"")
    assert store.list(prefix) == found


def test_a_folder_is_no_object(place: Place) -> None:
    store = place.open()
    store.create("folder/object", b"kept")
    with pytest.raises(NotThere):
        store.read("folder")
    store.remove("folder")
    assert store.read("folder/object") == b"kept"


def test_of_eight_threads_exactly_one_creates_a_name(place: Place) -> None:
    for turn in range(12):
        name = f"epochs/{turn}"
        won: list[bytes] = []
        lost: list[bytes] = []
        line = threading.Barrier(8)

        def race(number: int, name=name, won=won, lost=lost, line=line) -> None:
            data, store = f"{name} by {number}".encode(), place.open()
            line.wait()
            try:
                store.create(name, data)
                won.append(data)
            except AlreadyThere:
                lost.append(data)

        threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(won), len(lost)) == (1, 7)
        assert place.open().read(name) == won[0]
        assert not set(lost) & set(place.raw())


@pytest.mark.slow
def test_of_two_processes_one_wins_each_name_and_one_that_is_killed_leaves_nothing(
    place: Place,
) -> None:
    store = place.open()
    with other_process(place) as other:
        for turn in range(30):
            name, start = f"race/{turn}", time.time() + 0.05
            other.order(name=name, text=f"theirs {turn}", start=start, die=False)
            while time.time() < start:
                pass
            try:
                store.create(name, f"ours {turn}".encode())
                ours = "won"
            except AlreadyThere:
                ours = "lost"
            theirs = other.answer()
            assert {ours, theirs} == {"won", "lost"}
            winner, loser = ("ours", "theirs") if ours == "won" else ("theirs", "ours")
            assert store.read(name) == f"{winner} {turn}".encode()
            assert f"{loser} {turn}".encode() not in place.raw()

        if isinstance(place, S3Place):
            if OUTSIDE_S3:
                return
            place.shelf.trouble.append("stall")
            # More than the buffers between client and server hold.
            other.order(name="torn", text="x" * 40_000_000, start=0.0, die=True)
            assert place.shelf.half_read.wait(60)
            other.kill()
            place.shelf.go_on.set()
            assert place.shelf.torn.wait(60)
        else:
            other.order(name="torn", text="x" * 1000, start=0.0, die=True)
            assert other.answer() == "about to publish"
            other.kill()
    assert "torn" not in store.list("")
    with pytest.raises(NotThere):
        store.read("torn")
    store.create("torn", b"by the one that lives")
    assert place.open().read("torn") == b"by the one that lives"


def test_a_full_disk_raises_and_leaves_nothing(
    place_on: Callable[[Path], Place], mount: Mount
) -> None:
    place = place_on(mount("size=2m") / "ck")
    store = place.open()
    store.create("small", b"fits")
    with pytest.raises(StoreFailed, match=r"cannot create 'large' in .*No space left"):
        store.create("large", bytes(3_000_000))
    assert store.list("") == ["small"]
    with pytest.raises(NotThere):
        store.read("large")
    assert place.raw() == [b"fits"]


def test_a_disk_that_is_read_only_can_be_read_and_says_so(
    place_on: Callable[[Path], Place], mount: Mount
) -> None:
    place = place_on(mount("size=2m") / "ck")
    place.open().create("kept", b"before")
    mount("remount,ro")
    store = place.open()
    with pytest.raises(StoreFailed, match="cannot create 'new' in"):
        store.create("new", b"after")
    with pytest.raises(OSError, match="cannot remove 'kept' in"):
        store.remove("kept")
    assert store.list("") == ["kept"]
    assert store.read("kept") == b"before"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("a/b", "a", id="an object where a folder is"),
        pytest.param("a", "a/b", id="a folder where an object is"),
    ],
)
def test_disks_refuse_a_name_that_is_the_folder_of_another(
    place_on: Callable[[Path], Place], tmp_path: Path, first: str, second: str
) -> None:
    store = place_on(tmp_path / "ck").open()
    store.create(first, b"first")
    with pytest.raises(InvalidArgument, match="both an object and a folder"):
        store.create(second, b"second")
    assert store.list("") == [first]
    assert store.read(first) == b"first"


def test_errors_are_ours_and_speak_of_the_place(place: Place) -> None:
    store = place.open()
    with pytest.raises(TrimtabError, match=r"ck/nothing is not there"):
        store.read("nothing")
    assert store.uri in repr(store)
