"""The contract of a store: create, read, list and remove. An object store can do no more."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable

from trimtab.errors import AlreadyThere, InvalidArgument, NotThere, StoreFailed
from trimtab.journal.store.plain_files import PlainFiles

Names = list[str]
"""Inside of `Store` the word `list` is a method."""

NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, and half characters that have no form in UTF-8."""

WRITING = ".writing"
"""The folder of objects that are still being written; no object may be named into it."""

WRITING_FOR_LONG = 24 * 3600
"""Seconds after which what lies there was left by a writer that has died.

Should the writer be alive all the same, its `create` fails; nothing half-written is ever shown.
"""


class Store(PlainFiles):
    """A place for small objects that are written once, under names.

    `create` succeeds for exactly one of all writers of a name, in all threads, processes and
    machines. An object appears whole or not at all. It never changes; it can only be removed. What
    was created before a `read` or a `list` begins is seen by it.

    Names are relative, with `/` between their parts: `state/17.json`. No name may be the folder of
    another (`state` and `state/17.json`): disks refuse that, object stores do not notice.

    Notes
    -----
    There is no rename and no overwrite, because object stores cannot do them in one step. `list`
    may also show files that others have put there by other means; keep such files in folders of
    their own, and ask for them with the methods of `PlainFiles`.
    """

    @property
    @abstractmethod
    def uri(self) -> str:
        """The place with its scheme, as Spark would be told of it."""

    def create(self, name: str, data: bytes) -> None:
        """Write an object; when this returns, the object survives a crash of this machine.

        Parameters
        ----------
        name
            A name nobody has created yet, or one that was removed.
        data
            The whole content; it may be empty.

        Raises
        ------
        AlreadyThere
            If somebody else has created the name, be it at the same moment.
        StoreFailed
            If the place cannot be written to. Where only the answer of a distant place was lost,
            the object may be there all the same, and whole.
        """
        if not isinstance(data, bytes):
            raise InvalidArgument(f"an object is made of bytes; got {type(data).__name__}")
        self._create(checked_name(name), data)

    def read(self, name: str) -> bytes:
        """Return the content of an object.

        Raises
        ------
        NotThere
            If there is no whole object of that name.
        StoreFailed
            If the place cannot be read.
        """
        return self._read(checked_name(name))

    def list(self, prefix: str) -> Names:
        """Return the names of all whole objects that begin with `prefix`, sorted.

        The prefix is text: `state/1` finds `state/1`, `state/17` and `state/1/a`. An empty prefix
        finds everything.
        """
        if prefix:
            # What may follow the prefix is any name's rest, so one letter makes it a name.
            checked_name(f"{prefix}x")
        folder = prefix.rpartition("/")[0]
        return sorted(
            name
            for name in self._below(folder)
            if name.startswith(prefix) and name.partition("/")[0] != WRITING
        )

    def remove(self, name: str) -> None:
        """Remove an object; there need be none."""
        self._remove(checked_name(name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r})"

    @abstractmethod
    def _create(self, name: str, data: bytes) -> None: ...

    @abstractmethod
    def _read(self, name: str) -> bytes: ...

    @abstractmethod
    def _below(self, folder: str) -> Iterable[str]:
        """Return the names of all whole objects in a folder and the folders in it, in any order."""

    @abstractmethod
    def _remove(self, name: str) -> None: ...

    def _already_there(self, name: str) -> AlreadyThere:
        return AlreadyThere(
            f"{self.uri}/{name} was created before; an object is written once: read it, or take "
            "another name"
        )

    def _not_there(self, name: str) -> NotThere:
        return NotThere(f"{self.uri}/{name} is not there: it was never created, or was removed")

    def _is_folder(self, name: str) -> InvalidArgument:
        return InvalidArgument(
            f"{self.uri}/{name} cannot be created: a part of this name is both an object and a "
            "folder; take another name"
        )

    def _failed(self, what: str, reason: object) -> StoreFailed:
        return StoreFailed(
            f"cannot {what} in {self.uri}: {reason}; see that the place can be reached, is allowed "
            "and has room, then start again"
        )


def checked_name(name: str) -> str:
    """Return `name` if it is one that every kind of store can hold."""
    if not isinstance(name, str):
        raise InvalidArgument(f"a name in a store is text; got {name!r}")
    parts = name.split("/")
    plain = all(part not in ("", ".", "..") for part in parts)
    if not plain or parts[0] == WRITING or NOT_IN_NAMES.search(name):
        raise InvalidArgument(
            f"{name!r} is no name for a store: allowed are parts joined by '/', such as "
            f"'state/17.json', none of them empty, '.' or '..', the first not {WRITING!r}, and no "
            "control characters"
        )
    return name
