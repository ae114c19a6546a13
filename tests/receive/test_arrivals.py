from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import CorruptState, StoreFailed
from trimtab.receive import arrivals as arrivals_module
from trimtab.receive.arrivals import Arrivals, Chunk


def chunk(text: str, **facts: Any) -> Chunk:
    data = "".join(f"{letter}\n" for letter in text).encode()
    return Chunk("csv", data, len(text), **facts)


def opened(folder: Path, epoch: int, from_record: int = 0) -> tuple[Arrivals, list[Any]]:
    made = Arrivals(folder, epoch, from_record)
    found = [(first, each.data.decode().replace("\n", "")) for first, each in made.recovered()]
    made.begin_segment()
    return made, found


def segments(folder: Path) -> list[Path]:
    return sorted((folder / "arrivals").iterdir())


def test_what_was_appended_is_found_again_with_its_numbers_and_its_senders(tmp_path: Path) -> None:
    first, found = opened(tmp_path, 1)
    assert (found, first.next) == ([], 0)
    assert first.append([chunk("ab", client="ann"), chunk("c", file="f.csv", read=7)]) == 0
    assert first.append([chunk("d", client="ann")]) == 3
    second, found = opened(tmp_path, 2)
    assert found == [(0, "ab"), (2, "c"), (3, "d")]
    assert (second.memory.clients, second.memory.files) == ({"ann": 3}, {"f.csv": 7})
    assert second.append([chunk("e", client="bob")]) == 4
    # Of the first segment nothing is needed any more, of the second all of it.
    third, found = opened(tmp_path, 3, from_record=4)
    assert (found, third.next) == ([(4, "e")], 5)
    assert third.memory.clients == {"ann": 3, "bob": 1}


def test_segments_go_when_their_records_are_in_batches(tmp_path: Path) -> None:
    made, _ = opened(tmp_path, 1)
    for text in ("ab", "c"):
        made.append([chunk(text)])
        made.begin_segment()
    assert len(segments(tmp_path)) == 3
    made.forget(before=1)
    assert len(segments(tmp_path)) == 3
    made.forget(before=2)
    made.append([chunk("d")])
    assert len(segments(tmp_path)) == 2
    assert opened(tmp_path, 2, from_record=2)[1] == [(2, "c"), (3, "d")]


def test_half_a_group_at_the_end_never_was(tmp_path: Path) -> None:
    """Wherever the last group ends too early, those before it count and it does not."""
    made, _ = opened(tmp_path, 1)
    made.append([chunk("ab")])
    (path,) = segments(tmp_path)
    before = path.stat().st_size
    made.append([chunk("cd", client="ann")])
    whole = path.read_bytes()
    for length in (before + 1, before + 30, len(whole) - 1):
        path.write_bytes(whole[:length])
        found = Arrivals(tmp_path, 2, 0)
        assert [each.data for _, each in found.recovered()] == [b"a\nb\n"]
        assert (found.next, found.memory.clients) == (2, {})
    # A disk may have got the length and not the bytes.
    path.write_bytes(whole[:before] + bytes(len(whole) - before))
    again, found = opened(tmp_path, 2)
    assert found == [(0, "ab")]
    again.append([chunk("e")])
    assert opened(tmp_path, 3)[1] == [(0, "ab"), (2, "e")]


@pytest.mark.parametrize("harm", ["a bit", "a segment", "the end of an old segment"])
def test_damage_to_what_was_acknowledged_is_refused_by_name(tmp_path: Path, harm: str) -> None:
    made, _ = opened(tmp_path, 1)
    made.append([chunk("ab")])
    if harm != "a bit":
        made.begin_segment()
    made.append([chunk("cd")])
    path = segments(tmp_path)[0]
    data = path.read_bytes()
    at = data.index(b"a\nb\n")
    if harm == "a bit":
        path.write_bytes(data[:at] + b"x" + data[at + 1 :])
    elif harm == "a segment":
        path.unlink()
    else:
        path.write_bytes(data[:at])
    with pytest.raises(CorruptState, match=path.name):
        Arrivals(tmp_path, 2, 0)


def test_records_of_which_a_batch_has_some_are_refused(tmp_path: Path) -> None:
    made, _ = opened(tmp_path, 1)
    made.append([chunk("abc")])
    with pytest.raises(CorruptState, match="records 0 to 3, of which a batch has some"):
        Arrivals(tmp_path, 2, from_record=1)


def test_what_one_adds_that_was_taken_over_does_not_count(tmp_path: Path) -> None:
    """It goes on with its segment, and even begins one; the newer one has read before that."""
    old, _ = opened(tmp_path, 1)
    old.append([chunk("a")])
    new, found = opened(tmp_path, 2)
    assert found == [(0, "a")]
    old.append([chunk("x")])
    old.begin_segment()
    old.append([chunk("y")])
    new.append([chunk("b")])
    assert opened(tmp_path, 3)[1] == [(0, "a"), (1, "b")]


def test_a_segment_that_was_only_begun_is_passed_over(tmp_path: Path) -> None:
    made, _ = opened(tmp_path, 1)
    made.append([chunk("a")])
    for length in (0, 10):
        (tmp_path / "arrivals" / f"{1:020d}-{1:010d}-{length:016x}").write_bytes(bytes(length))
    assert opened(tmp_path, 2)[1] == [(0, "a")]


@pytest.mark.parametrize("failing", ["write", "fdatasync", "fsync"])
def test_a_disk_that_fails_loses_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    made, _ = opened(tmp_path, 1)
    made.append([chunk("a")])
    lost = chunk("lost", client="ann")
    write = arrivals_module._write_all

    def half(file: int, data: bytes) -> None:
        write(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        if failing == "write":
            broken.setattr(arrivals_module, "_write_all", half)
        else:
            broken.setattr(os, failing, fail)
        act = made.begin_segment if failing == "fsync" else lambda: made.append([lost])
        with pytest.raises(StoreFailed, match="not acknowledged"):
            act()
    assert made.append([chunk("b")]) == 1
    assert made.memory.clients == {}
    assert opened(tmp_path, 2)[1] == [(0, "a"), (1, "b")]
