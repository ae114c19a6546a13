"""A store on any file system that Spark can open, through Hadoop's own client in the JVM."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from trimtab.errors import CorruptState, InvalidArgument, TrimtabError
from trimtab.journal.store.base import WRITING, WRITING_FOR_LONG, Names, Store

_CONTENT = re.compile(r"whole-([0-9]+)-([0-9a-f]{32})")
"""The file that holds an object's bytes: how many they are, and who wrote them."""

_LISTINGS = 20
"""How often a listing begins again because something was removed under its hands."""

_T = TypeVar("_T")

_GONE = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")


class HadoopStore(Store):
    """Objects on HDFS and its kin; each is a directory with one file in it.

    The directory is filled under a hidden name and then renamed. Hadoop's `rename` moves a
    directory *into* a destination that exists: the first of all writers becomes the destination,
    every other one ends up inside of it, looks, sees that it has lost, and removes what it brought.

    Parameters
    ----------
    where
        `hdfs://host/path`, `hdfs:/path`, `viewfs://cluster/path`, `dbfs:/path`, `file:/path` and
        whatever else the session's Hadoop settings know.
    session
        A Spark Classic session. Spark Connect has no JVM at hand.

    Notes
    -----
    Why not create the file under its own name, with `overwrite=False`? It would show before it is
    complete, a writer that dies would leave its half for ever, and on `file:` Hadoop looks first
    and creates afterwards: eight threads at once had two or three winners in 4 of 40 races.

    What holds, and where:

    - HDFS, and `viewfs` within one mount of it: everything the contract says. It follows from the
      name node, which looks at the destination and renames under one lock, and from `hsync`, which
      forces the bytes to the disks of the data nodes before that. Our tests run no name node.
    - `file:` through Hadoop: one writer and whole objects, as long as nobody removes a name at the
      very moment it is created. The bytes are not forced to the disk, because Hadoop's local client
      cannot. `trimtab.journal.store.store` never comes here with `file:`.
    - File systems whose rename copies, such as object stores behind Hadoop: two writers at the same
      moment may both succeed. The next look at that name finds two contents and refuses it as
      `CorruptState`. Give such places by an address that `ObjectStore` knows.

    The directories of objects are readable by their owner only. Characters that HDFS does not allow
    in names are written as `%` and two digits.
    """

    def __init__(self, where: str, session: Any) -> None:
        if getattr(session, "_jsparkSession", None) is None:
            raise InvalidArgument(
                f"{where!r} can only be opened by Hadoop inside of a Spark Classic session; got "
                f"{session!r}; start the driver with one, or give a local path, s3://, gs:// or "
                "abfss://"
            )
        self._uri = where
        self._jvm = session._jvm
        # Within the session's own settings, fs.* set on the session count as they do for its reads.
        settings = session._jsparkSession.sessionState().newHadoopConf()
        with self._speaking("open a path"):
            given = self._hadoop.Path(where)
            self._files = given.getFileSystem(settings)
            self._root = self._files.makeQualified(given)
            self._uri = str(self._root.toString()).rstrip("/")
        self._owner_only = self._hadoop.permission.FsPermission("700")
        self._prepared = False
        self._folders: set[str] = set()

    @property
    def uri(self) -> str:
        """The place as Hadoop has understood it, with the host of the default file system."""
        return self._uri

    @property
    def _hadoop(self) -> Any:
        return self._jvm.org.apache.hadoop.fs

    def _create(self, name: str, data: bytes) -> None:
        writer = uuid.uuid4().hex
        part, target = self._path(f"{WRITING}/{writer}"), self._path(name)
        content = f"whole-{len(data)}-{writer}"
        with self._speaking(f"create {name!r}"):
            self._prepare()
            try:
                self._write(part, content, data)
                self._make_folders(name)
                found = self._published(part, target, name)
            finally:
                # One that has lost lies in the winner's directory, or still where it was written.
                self._files.delete(self._hadoop.Path(target, writer), True)
                self._files.delete(part, True)
        if found is None:
            raise self._is_folder(name)
        if found != content:
            raise self._already_there(name)

    def _prepare(self) -> None:
        if self._prepared:
            return
        writing = self._path(WRITING)
        self._files.mkdirs(writing, self._owner_only)
        long_ago = 1000 * (time.time() - WRITING_FOR_LONG)
        for found in self._files.listStatus(writing):
            if found.getModificationTime() < long_ago:
                self._files.delete(found.getPath(), True)
        self._prepared = True

    def _make_folders(self, name: str) -> None:
        """Make the folders above a name; one that is an object is refused."""
        above = name.split("/")[:-1]
        for depth in range(1, len(above) + 1):
            folder = "/".join(above[:depth])
            if folder in self._folders:
                continue
            path = self._path(folder)
            self._files.mkdirs(path, self._owner_only)
            if self._content(path, folder) is not None:
                raise self._is_folder(name)
            # A folder stays one: whoever renames an object onto it ends up inside of it.
            self._folders.add(folder)

    def _write(self, part: Any, content: str, data: bytes) -> None:
        self._files.mkdirs(part, self._owner_only)
        stream = self._files.create(self._hadoop.Path(part, content), False)
        try:
            stream.write(data)
            if stream.hasCapability("hsync"):
                stream.hsync()
        finally:
            stream.close()

    def _published(self, part: Any, target: Any, name: str) -> str | None:
        """Rename, and return the content that is there afterwards.

        What `rename` returns or throws when it has come too late differs between file systems, and
        the answer to one that has worked can get lost. What is there does not lie.
        """
        thrown: Exception | None = None
        try:
            self._files.rename(part, target)
        except Exception as error:
            thrown = error
        found = self._content(target, name)
        if found is None and thrown is not None:
            raise thrown
        return found

    def _read(self, name: str) -> bytes:
        target = self._path(name)
        with self._speaking(f"read {name!r}"):
            content = self._content(target, name)
            data = None if content is None else self._bytes(self._hadoop.Path(target, content))
        if content is None or data is None or not content.startswith(f"whole-{len(data)}-"):
            raise self._not_there(name)
        return data

    def _content(self, target: Any, name: str) -> str | None:
        """Return the file with an object's bytes, or None if there is no such object."""
        try:
            files = self._children(self._files.listStatus(target))
        except Exception as error:
            if _java_class(error) in _GONE:
                return None
            raise
        contents = [file for file in files if _CONTENT.fullmatch(file)]
        if len(contents) > 1:
            raise CorruptState(
                f"{self.uri}/{name} was created by two writers at once, which this file system did "
                "not prevent; give a place whose rename is one step, or the object store's own "
                "address (s3://, gs://, abfss://)"
            )
        return contents[0] if contents else None

    def _bytes(self, path: Any, start: int = 0) -> bytes | None:
        try:
            stream = self._files.open(path)
        except Exception as error:
            if _java_class(error) in _GONE:
                return None
            raise
        try:
            stream.seek(start)
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def _below(self, folder: str) -> Names:
        return self._listed(folder, self._path(folder) if folder else self._root, self._walked)

    def _listed(self, folder: str, path: Any, look: Callable[[Any], list[_T]]) -> list[_T]:
        """Return what `look` finds at a folder, which may change while it looks."""
        with self._speaking(f"list {folder!r}"):
            for _ in range(_LISTINGS):
                try:
                    return look(path)
                except Exception as error:
                    if _java_class(error) not in _GONE:
                        raise
                    if not self._files.exists(path):
                        return []
        raise self._failed(f"list {folder!r}", f"it changed {_LISTINGS} times while it was read")

    def _walked(self, folder: Any) -> Names:
        """Return the objects below a folder."""
        found, _ = self._files_below(folder)
        return [
            "/".join(map(unquote, above.split("/")))
            for above, _, last in (path.rpartition("/") for path in found)
            if above and _CONTENT.fullmatch(last)
        ]

    def _files_below(self, folder: Any) -> tuple[Names, Any]:
        """Return all files below a folder, in as few calls of the JVM as it has levels.

        They come as names and as what Hadoop knows of them, in the same order.
        """
        before: set[str] | None = None
        statuses = self._files.listStatus(folder)
        while True:
            paths = self._hadoop.FileUtil.stat2Paths(statuses)
            names = list(self._relative(paths))
            if set(names) == before:
                return names, statuses
            # The status of a file is the file itself: when nothing changes, only files are left.
            before, statuses = set(names), self._files.listStatus(paths)

    def _children(self, statuses: Any) -> Names:
        paths = self._relative(self._hadoop.FileUtil.stat2Paths(statuses))
        return [path.rpartition("/")[2] for path in paths]

    def _relative(self, paths: Any) -> Iterator[str]:
        """Go through paths below the root, all of which come from the JVM in one call."""
        joined = self._jvm.scala.collection.immutable.ArraySeq.unsafeWrapArray(paths).mkString("\n")
        start = f"{self.uri}/"
        return (path.removeprefix(start) for path in str(joined).split("\n") if path)

    def _remove(self, name: str) -> None:
        target = self._path(name)
        with self._speaking(f"remove {name!r}"):
            if self._content(target, name) is None:
                return
            self._prepare()
            # A directory is not deleted in one step everywhere, so it leaves its name first.
            aside = self._path(f"{WRITING}/{uuid.uuid4().hex}")
            try:
                renamed = self._files.rename(target, aside)
            except Exception as error:
                if _java_class(error) not in _GONE:
                    raise
                return
            if not renamed and self._content(target, name) is not None:
                raise self._failed(f"remove {name!r}", "it cannot be renamed")
            self._files.delete(aside, True)

    def _entries(self, folder: str) -> Names:
        path = self._plain(folder) if folder else self._root
        return self._listed(folder, path, lambda path: self._children(self._files.listStatus(path)))

    def _sizes(self, folder: str, after: str) -> list[tuple[str, int]]:
        def look(path: Any) -> list[tuple[str, int]]:
            names, statuses = self._files_below(path)
            # Each length is a question to the JVM: only those that are wanted.
            return [(name, statuses[at].getLen()) for at, name in enumerate(names) if name > after]

        return self._listed(folder, self._plain(folder) if folder else self._root, look)

    def _read_file(self, name: str, start: int) -> bytes:
        with self._speaking(f"read {name!r}"):
            data = self._bytes(self._plain(name), start)
        if data is None:
            raise self._not_there(name)
        return data

    def _write_file(self, name: str, data: bytes) -> None:
        part, target = self._path(f"{WRITING}/{uuid.uuid4().hex}"), self._plain(name)
        with self._speaking(f"create {name!r}"):
            self._prepare()
            try:
                self._write(part, "file", data)
                self._files.mkdirs(target.getParent())
                # Not every file system refuses to rename a file onto another.
                if self._files.exists(target) or not self._files.rename(
                    self._hadoop.Path(part, "file"), target
                ):
                    raise self._already_there(name)
            finally:
                self._files.delete(part, True)

    def _remove_file(self, name: str) -> None:
        with self._speaking(f"remove {name!r}"):
            self._files.delete(self._plain(name), False)

    def _remove_folder(self, folder: str) -> None:
        with self._speaking(f"remove {folder!r}"):
            self._files.delete(self._plain(folder), True)
        self._folders = {each for each in self._folders if not f"{each}/".startswith(f"{folder}/")}

    def _plain(self, name: str) -> Any:
        """Return the path of a file as Spark has named it."""
        return self._hadoop.Path(self._root, name)

    def _path(self, name: str) -> Any:
        # Hadoop's Path takes a colon for the end of a scheme, and HDFS has none in its names.
        quoted = "/".join(quote(part, safe="") for part in name.split("/"))
        return self._hadoop.Path(self._root, quoted)

    @contextmanager
    def _speaking(self, what: str) -> Iterator[None]:
        """Turn exceptions of the JVM into errors of ours; ours pass."""
        try:
            yield
        except TrimtabError:
            raise
        except Exception as error:
            thrown = _thrown(error)
            if thrown is None:
                raise
            raise self._failed(what, thrown.toString()) from error


def _thrown(error: Exception) -> Any:
    """Return the Java exception behind an error, None if there is none.

    Py4J keeps it in one place, PySpark, which translates some of them, in another. Neither can be
    imported here.
    """
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def _java_class(error: Exception) -> str:
    thrown = _thrown(error)
    return "" if thrown is None else str(thrown.getClass().getName())
