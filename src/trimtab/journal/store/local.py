"""A store on a disk that this machine has mounted."""

from __future__ import annotations

import errno
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trimtab.errors import InvalidArgument, TrimtabError
from trimtab.journal.store.base import WRITING, WRITING_FOR_LONG, Store

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}
"""What file systems without hard links answer to `link`."""


class LocalStore(Store):
    """Files below a directory, each readable by its owner only.

    An object is written to a hidden file and forced to the disk; then a hard link gives it its
    name. `link` fails if the name exists, in one step, on local disks and on NFS. At last
    the directory is forced to the disk, so that the name lasts as well.

    Parameters
    ----------
    root
        The directory. It is made, for its owner only, when the first object is created; one that
        exists keeps its rights.

    Notes
    -----
    A process that dies while it writes leaves its hidden file in `.writing`; stores that create
    something a day later or more remove it. Some mounted object stores have no hard links: they
    are refused by name, since they offer no other way to create a whole file for one writer.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.abspath(root))
        if self.root.is_file():
            raise InvalidArgument(f"{str(self.root)!r} is a file; give a directory")
        self._writing = self.root / WRITING
        self._prepared = False

    @property
    def uri(self) -> str:
        """The directory as Spark would be told of it: unescaped, as Spark takes it."""
        return f"file://{self.root}"

    def _create(self, name: str, data: bytes) -> None:
        self._written(name, data, 0o700)

    def _write_file(self, name: str, data: bytes) -> None:
        # Who may read results is for their owner to say.
        self._written(name, data, 0o777)

    def _written(self, name: str, data: bytes, rights: int) -> None:
        target = self.root / name
        with self._speaking(f"create {name!r}"):
            try:
                make_directories(target.parent, rights)
                self._prepare()
            except NotADirectoryError as error:
                raise self._is_folder(name) from error
            part = self._writing / uuid.uuid4().hex
            try:
                write_through(part, data, rights & 0o666)
                self._publish(part, target, name)
            finally:
                part.unlink(missing_ok=True)

    def _publish(self, part: Path, target: Path, name: str) -> None:
        try:
            os.link(part, target)
        except FileExistsError as error:
            if target.is_dir():
                raise self._is_folder(name) from error
            # On NFS the answer to a link that was made can get lost; the repeated call then fails.
            if not same_file(part, target):
                raise self._already_there(name) from error
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise InvalidArgument(
                    f"{self.uri} is on a file system without hard links, where no file can be "
                    "created whole by exactly one writer; give a local disk, NFS or an object "
                    "store's own address (s3://, gs://, abfss://)"
                ) from error
            raise
        sync_directory(target.parent)

    def _prepare(self) -> None:
        if self._prepared:
            return
        make_directories(self._writing)
        long_ago = time.time() - WRITING_FOR_LONG
        with os.scandir(self._writing) as found:
            for entry in found:
                # Another driver may be sweeping as well.
                with suppress(FileNotFoundError):
                    if entry.stat().st_mtime < long_ago:
                        os.unlink(entry.path)
        self._prepared = True

    def _read(self, name: str) -> bytes:
        return self._read_file(name, 0)

    def _below(self, folder: str) -> Iterator[str]:
        def refuse(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                raise error

        with self._speaking(f"list {folder!r}"):
            for directory, _, files in os.walk(self.root / folder, onerror=refuse):
                above = Path(directory).relative_to(self.root)
                yield from ((above / file).as_posix() for file in files)

    def _remove(self, name: str) -> None:
        with (
            self._speaking(f"remove {name!r}"),
            suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError),
        ):
            os.unlink(self.root / name)

    def _entries(self, folder: str) -> list[str]:
        with self._speaking(f"list {folder!r}"):
            try:
                return os.listdir(self.root / folder)
            except FileNotFoundError:
                return []

    def _sizes(self, folder: str, after: str) -> Iterator[tuple[str, int]]:
        for name in self._below(folder):
            if name <= after:
                continue
            # What is removed while we look was not part of what is there.
            with suppress(FileNotFoundError):
                yield name, (self.root / name).stat().st_size

    def _read_file(self, name: str, start: int) -> bytes:
        with self._speaking(f"read {name!r}"):
            try:
                with open(self.root / name, "rb") as file:
                    file.seek(start)
                    return file.read()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
                raise self._not_there(name) from error

    def _remove_file(self, name: str) -> None:
        self._remove(name)

    def _remove_folder(self, folder: str) -> None:
        with self._speaking(f"remove {folder!r}"), suppress(FileNotFoundError):
            shutil.rmtree(self.root / folder)

    @contextmanager
    def _speaking(self, what: str) -> Iterator[None]:
        """Turn errors of the operating system into ours; ours pass."""
        try:
            yield
        except TrimtabError:
            raise
        except OSError as error:
            raise self._failed(what, error) from error


def write_through(path: Path, data: bytes, rights: int = 0o600) -> None:
    """Write a new file, by default for its owner only, and force it to the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, rights)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def make_directories(path: Path, rights: int = 0o700) -> None:
    """Make a directory, and those above it, by default for the owner only, and make them last."""
    if path.is_dir():
        return
    make_directories(path.parent, rights)
    try:
        path.mkdir(mode=rights)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is a file", str(path)) from None
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Force the names inside a directory to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def same_file(one: Path, other: Path) -> bool:
    """Return whether two names are links to one file; a name that is gone is not."""
    try:
        return os.path.samefile(one, other)
    except FileNotFoundError:
        return False
