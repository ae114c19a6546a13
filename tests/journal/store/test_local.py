"""What only a disk has: rights, links, leftovers and room."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

import pytest

from tests.journal.conftest import Mount
from trimtab.errors import AlreadyThere, InvalidArgument, StoreFailed
from trimtab.journal.store import local
from trimtab.journal.store.base import WRITING_FOR_LONG
from trimtab.journal.store.local import LocalStore


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    LocalStore(tmp_path / "deep" / "ck").create("state/1", b"names of people")
    made = [tmp_path / "deep", *(tmp_path / "deep").rglob("*")]
    assert {rights(path) for path in made if path.is_dir()} == {0o700}
    assert {rights(path) for path in made if path.is_file()} == {0o600}


def test_a_directory_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    root = tmp_path / "ck"
    root.mkdir(mode=0o750)
    LocalStore(root).create("a", b"")
    assert rights(root) == 0o750


def test_opening_and_reading_make_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "ck")
    assert store.list("") == []
    store.remove("a")
    assert not (tmp_path / "ck").exists()


def test_everything_is_forced_to_the_disk_before_create_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File before link, link before its directory, and every new directory's own name."""
    happened: list[str] = []
    fsync, link = os.fsync, os.link

    def noted_fsync(handle: int) -> None:
        happened.append(f"sync {os.readlink(f'/proc/self/fd/{handle}')}")
        fsync(handle)

    def noted_link(part: Path, target: Path) -> None:
        happened.append(f"link {target}")
        link(part, target)

    store = LocalStore(tmp_path / "ck")
    store.create("first", b"")
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "link", noted_link)
    store.create("state/1", b"x")
    made, written, *rest = happened
    assert made == f"sync {tmp_path}/ck"
    assert written.startswith(f"sync {tmp_path}/ck/.writing/")
    assert rest == [f"link {tmp_path}/ck/state/1", f"sync {tmp_path}/ck/state"]


def test_a_link_that_was_made_although_its_answer_got_lost_has_won(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def lossy(part: Path, target: Path) -> None:
        link(part, target)
        raise FileExistsError(errno.EEXIST, "exists", str(target))

    monkeypatch.setattr(local.os, "link", lossy)
    store = LocalStore(tmp_path)
    store.create("a", b"mine")
    assert store.read("a") == b"mine"
    monkeypatch.setattr(local.os, "link", link)
    with pytest.raises(AlreadyThere):
        store.create("a", b"yours")


def test_a_file_system_without_links_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(part: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "not permitted", str(target))

    monkeypatch.setattr(local.os, "link", none)
    with pytest.raises(InvalidArgument, match="without hard links"):
        LocalStore(tmp_path).create("a", b"")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_a_dead_writer_left_is_removed_after_a_day_and_not_before(tmp_path: Path) -> None:
    LocalStore(tmp_path).create("a", b"")
    old, young = tmp_path / ".writing" / "old", tmp_path / ".writing" / "young"
    for path in (old, young):
        path.touch()
    past = time.time() - WRITING_FOR_LONG - 60
    os.utime(old, (past, past))
    LocalStore(tmp_path).create("b", b"")
    assert not old.exists()
    assert young.exists()
    assert LocalStore(tmp_path).list("") == ["a", "b"]


def test_a_full_disk_gets_its_room_back(tmp_path: Path, mount: Mount) -> None:
    store = LocalStore(mount("size=1m") / "ck")
    with pytest.raises(StoreFailed, match="No space left"):
        store.create("large", bytes(2_000_000))
    store.create("fits", bytes(700_000))


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ck").touch()
    with pytest.raises(InvalidArgument, match="is a file; give a directory"):
        LocalStore(tmp_path / "ck").create("a", b"")


def test_a_link_to_a_directory_is_a_root_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "ck").symlink_to(tmp_path / "real")
    LocalStore(tmp_path / "ck").create("state/1", b"x")
    assert LocalStore(tmp_path / "real").list("") == ["state/1"]
