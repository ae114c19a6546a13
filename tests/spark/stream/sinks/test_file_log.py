"""The log of results: what writing it costs, and that Spark reads it at every length."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.journal.store.places import Place
from trimtab.errors import CorruptState, TakenOver
from trimtab.journal.store import Store, store
from trimtab.spark.stream.sinks.file_log import FOLDER, INTERVALS_BEFORE_DOUBLE, FileLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES = 700
"""The interval is doubled five times until then."""


def interval_inferred(default: int, compact: list[int]) -> int:
    """Return the interval as Spark's `CompactibleFileStreamLog` infers it."""
    if len(compact) >= 2:
        return compact[-1] - compact[-2]
    if not compact:
        return default
    length = compact[0] + 1
    if length > default and default < length // 2:
        return next(n for n in [*range(default, length // 2 + 1), length] if length % n == 0)
    return length


def entries_read(log: Store, default: int) -> tuple[list[str], int]:
    """Read the log as Spark's readers do; return the entries and how many files were opened."""
    names = [name.rpartition("/")[2] for name in log.sizes(FOLDER)]
    compact = sorted(int(name.split(".")[0]) for name in names if name.endswith(".compact"))
    latest = max(int(name.split(".")[0]) for name in names)
    interval = interval_inferred(default, compact)
    start = max(0, (latest + 1) // interval * interval - 1)
    found: list[str] = []
    for batch in range(start, latest + 1):
        name = f"{batch}.compact" if (batch + 1) % interval == 0 else str(batch)
        found += log.read_file(f"{FOLDER}/{name}").decode().split("\n")[1:]
    return found, latest + 1 - start


class Counted(FileLog):
    """A log that counts the entries it writes."""

    written = 0

    def _write(self, name: str, entries: list[str]) -> None:  # type: ignore[override]
        self.written += len(entries)
        super()._write(name, entries)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: thousands of small files are written here."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.mark.usefixtures("quick")
def test_it_is_whole_at_every_length_and_its_cost_is_bounded(tmp_path: Path) -> None:
    place = store(tmp_path)
    log = Counted(place)
    assert log.last() == -1
    for batch in range(BATCHES):
        log.append(batch, [f"file of {batch}"])
        assert log.last() == batch
        length = batch + 1
        for default in (2, 5, 10, 64):
            found, opened = entries_read(place, default)
            assert found == [f"file of {number}" for number in range(length)]
            assert opened <= length / INTERVALS_BEFORE_DOUBLE + 2
        assert log.written <= (2 * INTERVALS_BEFORE_DOUBLE + 1) * length
    # Most of it is gone: what is left is what readers may still want.
    assert len(place.sizes(FOLDER)) < BATCHES / 4


@pytest.mark.usefixtures("quick")
def test_a_crash_before_old_entries_are_removed_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store(tmp_path)

    def dies(self: FileLog, batch: int) -> None:
        raise KeyboardInterrupt

    for batch in range(150):
        log = FileLog(place)
        with monkeypatch.context() as patched:
            if batch % 3 == 0:
                patched.setattr(FileLog, "_forget", dies)
            with suppress(KeyboardInterrupt):
                log.append(batch, [str(batch)])
        assert entries_read(place, 10)[0] == [str(number) for number in range(batch + 1)]


def test_every_place_can_hold_it(place: Place) -> None:
    for batch in range(8):
        FileLog(place.open()).append(batch, [f"file of {batch}"])
    assert entries_read(place.open(), 10)[0] == [f"file of {batch}" for batch in range(8)]
    with pytest.raises(TakenOver, match=r"7\.compact was written by another driver"):
        FileLog(place.open())._write("7.compact", [])


def test_an_entry_that_is_missing_or_damaged_is_refused_by_name(tmp_path: Path) -> None:
    log = FileLog(store(tmp_path))
    log.append(0, [])
    entry = tmp_path / FOLDER / "0"
    for text, words in (("v2", "does not start with v1"), (None, "is missing or cannot be read")):
        entry.unlink()
        if text is not None:
            entry.write_text(text)
        with pytest.raises(CorruptState, match=f"{FOLDER}/0 {words}|{FOLDER}/0 is damaged"):
            log._entries(-1, 1)


@pytest.mark.spark
@pytest.mark.usefixtures("quick")
def test_spark_reads_it_before_and_after_the_interval_is_doubled(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(3).coalesce(1).write.parquet(str(tmp_path / "one"))
    (one,) = (tmp_path / "one").glob("*.parquet")
    out = tmp_path / "out"
    log = FileLog(store(out))
    out.mkdir()
    for batch in range(132):
        path = out / f"part-{batch}.parquet"
        os.link(one, path)
        entry = {
            "path": f"file://{path}",
            "size": one.stat().st_size,
            "isDir": False,
            "modificationTime": 0,
            "blockReplication": 1,
            "blockSize": 1,
            "action": "add",
        }
        log.append(batch, [json.dumps(entry)])
        # Intervals of two, four and eight begin at batches 1, 63 and 127.
        if batch in (0, 1, 2, 9, 62, 63, 66, 67, 126, 127, 131):
            assert len(spark.read.parquet(str(out)).inputFiles()) == batch + 1
    assert spark.read.parquet(str(out)).count() == 3 * 132
