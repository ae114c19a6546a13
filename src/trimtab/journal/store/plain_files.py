"""Plain files at the place of a store: those that Spark writes, and those that Spark reads.

The objects of a store may have a form of their own, which only the store can read. What Spark's
tasks write beside them, and what Spark's readers look for, are files as Spark knows them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping


class PlainFiles(ABC):
    """Files below an address, by names that are relative to it, with `/` between their parts."""

    def entries(self, folder: str = "") -> set[str]:
        """Return the names in a folder, of objects, files and folders; "" is the top.

        Names that begin with a dot are left out: they are somebody's notes.
        """
        return {name for name in self._entries(folder) if not name.startswith(".")}

    def folders(self, folder: str) -> set[str]:
        """Return the names of the folders in a folder that hold anything, be it out of sight."""
        return self.entries(folder)

    def sizes(self, folder: str, after: str = "") -> dict[str, int]:
        """Return the files below a folder, by name, and how many bytes each has.

        As Spark's readers do, it passes by what begins with `_` or `.` below the folder. A folder
        that is not there has no files; the folder "" is the whole place. `after` leaves out all
        names up to this one, which spares an object store to list them.
        """
        inside = len(folder) + 1 if folder else 0
        return {
            name: size
            for name, size in sorted(self._sizes(folder, after))
            # Some object stores list a folder as an empty file of its name.
            if name != folder
            and not any(part[:1] in ("_", ".") for part in name[inside:].split("/"))
        }

    def read_file(self, name: str, start: int = 0) -> bytes:
        """Return what a file holds from the byte `start` on, to its end.

        Raises
        ------
        NotThere
            If there is no such file.
        StoreFailed
            If the place cannot be read.
        """
        return self._read_file(name, start)

    def ends(self, starts: Mapping[str, int]) -> list[bytes]:
        """Return what several files hold, each from a byte of its own on."""
        return [self.read_file(name, start) for name, start in starts.items()]

    def write_file(self, name: str, data: bytes) -> None:
        """Write a file that appears whole or not at all, and is never written over.

        Of two writers at the same moment both may come through where the place is one that only
        Hadoop can open. Let one driver write, as an epoch sees to.

        Raises
        ------
        AlreadyThere
            If there is a file of that name.
        StoreFailed
            If the place cannot be written to.
        """
        self._write_file(name, data)

    def remove_file(self, name: str) -> None:
        """Remove a file; there need be none."""
        self._remove_file(name)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with all that is in it; there need be none."""
        self._remove_folder(folder)

    @abstractmethod
    def _entries(self, folder: str) -> Iterable[str]: ...

    @abstractmethod
    def _sizes(self, folder: str, after: str) -> Iterable[tuple[str, int]]: ...

    @abstractmethod
    def _read_file(self, name: str, start: int) -> bytes: ...

    @abstractmethod
    def _write_file(self, name: str, data: bytes) -> None: ...

    @abstractmethod
    def _remove_file(self, name: str) -> None: ...

    @abstractmethod
    def _remove_folder(self, folder: str) -> None: ...
