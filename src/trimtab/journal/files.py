"""How a file appears: whole or not at all, in a directory where files can be renamed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlparse

from trimtab.errors import InvalidArgument

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""How an address begins, with one slash or two: `s3a://bucket`, `hdfs:/dir`, `dbfs:/mnt`."""


def local_path(where: object, name: str) -> Path:
    """Return the absolute path of a directory in which this process can rename files.

    Parameters
    ----------
    where
        A path, or a `file:` address. Other addresses are refused: an object store cannot rename a
        file in one step.
    name
        What the caller calls the directory, for the sentence of a refusal.

    Examples
    --------
    >>> local_path("file:///data/my%20stream", "checkpoint").as_posix()
    '/data/my stream'
    """
    if not isinstance(where, str | os.PathLike) or not os.fspath(where):
        raise InvalidArgument(f"{name} must be a directory; got {where!r}")
    text = os.fspath(where)
    parts = urlparse(text)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        text = unquote(parts.path)
    elif _ADDRESS.match(text):
        raise InvalidArgument(
            f"{name} must be a path that driver and executors share, such as a mounted volume; "
            f"got {text!r}; files there must be renamed in one step, which {parts.scheme} cannot do"
        )
    return Path(text).absolute()


def spark_address(path: Path) -> str:
    """Return a path of this machine as Spark must be told of it, whatever its file system is.

    A bare path would be one of `fs.defaultFS`, which need not be the local disk.
    """
    return f"file://{path}"


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all, and is still there after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The dot hides it from Spark; the process id keeps two writers apart.
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Wait until the names of a directory's files are on the disk, as renames have left them."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
