"""Disks that are full or read-only: the query stops and says so, and goes on when that is over."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.stream.crash.queries import facts, results, started
from tests.spark.stream.inputs import write_files
from trimtab.journal import moments

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES = 4
QUERIES = ("tumbling", pytest.param("states", marks=pytest.mark.exhaustive))
"""Panes that Spark writes, and states that tasks of ours write."""

AT = [("batch started", 1), ("plan written", 2), ("sink done", 3)]
"""When the hazard comes: as the plan is written, as panes are, as the state is."""


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a directory that is a small file system of its own."""
    place = tmp_path_factory.mktemp("disk")
    try:
        mount("-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", str(place))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a file system can only be mounted by root, outside of a sandbox: {error}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


class Full:
    """A disk with no room left."""

    words = "No space left on device"

    def __init__(self, disk: Path) -> None:
        self.ballast = disk / "ballast"

    def begin(self) -> None:
        with open(self.ballast, "wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 12))

    def end(self) -> None:
        self.ballast.unlink()


class ReadOnly:
    """A disk that lets nobody write."""

    # Hadoop's client does not say why it cannot make a directory.
    words = "Read-only file system|Mkdirs failed to create"

    def __init__(self, disk: Path) -> None:
        self.disk = str(disk)

    def begin(self) -> None:
        mount("-o", "remount,ro", self.disk)

    def end(self) -> None:
        mount("-o", "remount,rw", self.disk)


@pytest.fixture(scope="module", params=QUERIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("undisturbed")
    write_files(root / "in", FILES)
    started(spark, root, name).awaitTermination()
    return root


@pytest.mark.parametrize(
    "hazard",
    [Full, pytest.param(ReadOnly, marks=pytest.mark.exhaustive)],
    ids=["full", "read-only"],
)
def test_a_query_stops_with_a_word_and_goes_on_when_the_disk_is_well(
    name: str,
    hazard: Any,
    spark: SparkSession,
    undisturbed: Path,
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = small_disk / hazard.__name__ / name
    write_files(root / "in", FILES)
    # Results go to another disk: the query must not show what it then cannot record.
    (tmp_path / "out").mkdir()
    os.symlink(tmp_path / "out", root / "out")
    trouble = hazard(small_disk)
    for wanted in AT:
        come = []

        def at(moment: str, batch: int, wanted: Any = wanted, come: Any = come) -> None:
            if (moment, batch) == wanted:
                come.append(wanted)
                trouble.begin()

        with monkeypatch.context() as patch:
            patch.setattr(moments, "at", at)
            query = started(spark, root, name)
            with pytest.raises(Exception, match=trouble.words):
                query.awaitTermination()
        assert come == [wanted]
        trouble.end()
    started(spark, root, name).awaitTermination()
    assert results(spark, root, name) == results(spark, undisturbed, name)
    assert facts(root, name) == facts(undisturbed, name)
