from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.receive.logs import eventually, log, numbers, text
from trimtab.errors import InvalidArgument
from trimtab.receive import Receiver, Running
from trimtab.receive.arrivals import Chunk
from trimtab.receive.sources import files
from trimtab.receive.sources.files import DirectorySource, FlowSource


def put(directory: Path, name: str, data: bytes, age: int = 0) -> None:
    (directory / f".{name}").write_bytes(data)
    os.utime(directory / f".{name}", ns=(0, 10**18 - age))
    (directory / f".{name}").rename(directory / name)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


def test_a_flow_is_read_to_its_end_without_a_last_line_feed(tmp_path: Path) -> None:
    place = log(tmp_path)
    data = text(range(30)) + b"x" * 200 + b"\n" + text([1], 30).rstrip()
    with Receiver(place) as made:
        source = FlowSource(Running(made), "json", io.BytesIO(data), record_bytes=100)
        source.start()
        assert source.join(10)
        assert source.failure is None
        manifest = made.flush()
    assert numbers(place) == list(range(31))
    assert manifest is not None
    assert manifest.rejected == 1


def test_each_file_is_taken_once_oldest_first(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "READ_BYTES", 64)
    place = log(tmp_path)
    put(directory, "b.json", text(range(10)), age=2)
    put(directory, "a.json", text(range(10), 10), age=1)
    put(directory, "_half.json", text(range(10), 900))
    put(directory, "empty.json", b"")
    (directory / "folder").mkdir()
    with Receiver(place) as made:
        source = DirectorySource(Running(made), "json", directory, every=0.01)
        source.start()
        eventually(lambda: len(made.files()) == 3)
        eventually(lambda: set(made.files().values()) == {-1})
        put(directory, "c.json", text(range(5), 20))
        eventually(lambda: made.received == 25)
        source.stop()
        assert source.join(10)
        made.flush()
    with Receiver(place) as made:
        source = DirectorySource(Running(made), "json", directory)
        assert source.look() == []
        (directory / "c.json").unlink()
        assert source.look() == []
        put(directory, "c.json", text(range(3), 25))
        assert source.look() == ["c.json"], "a new file of an old name"
        source.start()
        eventually(lambda: made.files().get("c.json") == -1)
        source.stop()
        made.flush()
    assert numbers(place) == list(range(28))


class StopsAfter(Running):
    """Stops its source when it has taken so many times."""

    source: DirectorySource

    def __init__(self, made: Receiver, takes: int) -> None:
        super().__init__(made)
        self.left = takes

    def take(self, chunks: Sequence[Chunk]) -> float:
        self.left -= 1
        if not self.left:
            self.source.stop()
        return super().take(chunks)


def test_a_file_goes_on_where_it_was_after_a_crash(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "READ_BYTES", 64)
    place = log(tmp_path)
    put(directory, "a.json", text(range(50)) + b"y" * 300 + b"\n" + text([9], 50))
    for crash_after in range(1, 30, 4):
        with Receiver(place) as made:
            source = DirectorySource(
                StopsAfter(made, crash_after), "json", directory, every=0.01, record_bytes=100
            )
            source.running.source = source  # type: ignore[attr-defined]
            for name in source.look():
                source._read_file(name)
    with Receiver(place) as made:
        made.flush()
    assert numbers(place) == list(range(51))
    (path,) = (place.path / "receivers/receiver/rejected").iterdir()
    assert "300" not in json.loads(path.read_text())["text"]


def test_a_source_ends_with_its_receiver(tmp_path: Path, directory: Path) -> None:
    place = log(tmp_path)
    with Receiver(place) as made:
        clock = Running(made)
        clock.failure = ZeroDivisionError()
        clock._reasons["failure"] = "it has stopped"
        source = FlowSource(clock, "json", io.BytesIO(text([1])))
        source.start()
        assert source.join(10)
        assert source.failure is clock.failure
        with pytest.raises(InvalidArgument, match="no directory"):
            DirectorySource(clock, "json", directory / "none")
        with pytest.raises(InvalidArgument, match="format"):
            FlowSource(clock, "xml", io.BytesIO())
