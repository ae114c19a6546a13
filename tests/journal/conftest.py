"""The places that the contract suite runs on, and disks too small or not to be written to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journal.store.places import HadoopPlace, LocalPlace, Place, S3Place
from tests.journal.store.s3_server import Shelf, s3_server

LOCAL = pytest.param("local", id="local disk")
S3 = pytest.param("s3", id="S3")
HADOOP = pytest.param("hadoop", id="Hadoop's FileSystem", marks=pytest.mark.spark)

Mount = Callable[..., Path]


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with s3_server() as shelf:
        yield shelf


@pytest.fixture
def lost_session(request: pytest.FixtureRequest) -> Any:
    """Return a Spark session whose default file system does not exist."""
    session = request.getfixturevalue("spark").newSession()
    session.conf.set("fs.defaultFS", "hdfs://no-such-host.invalid:9")
    return session


def make(kind: str, directory: Path, request: pytest.FixtureRequest) -> Place:
    if kind == "s3":
        return S3Place(request.getfixturevalue("shelf"))
    if kind == "hadoop":
        return HadoopPlace(directory, request.getfixturevalue("lost_session"))
    return LocalPlace(directory)


@pytest.fixture(params=[LOCAL, S3, HADOOP])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return make(request.param, tmp_path / "ck", request)


@pytest.fixture(params=[LOCAL, HADOOP])
def place_on(request: pytest.FixtureRequest) -> Callable[[Path], Place]:
    """Return a function from a directory to a place there."""
    return lambda directory: make(request.param, directory, request)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Return a function that mounts a small disk in memory, or changes how it is mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def mounted(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
        if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("mounting takes root, and a machine that lets root mount")
        return disk

    yield mounted
    # Lazily: on a full disk Hadoop's local client forgets to close what it could not flush.
    subprocess.run(["umount", "--lazy", str(disk)], check=False, capture_output=True)
