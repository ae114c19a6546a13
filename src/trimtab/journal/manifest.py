"""What belongs to a folder that Spark's tasks have written: its files, their rows and sizes.

The driver makes it once the job that wrote the folder is done. Whoever reads the folder later is
held to it: a file that is missing, or that does not belong there, or that has another size, would
otherwise be rows that are lost or counted twice, without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from trimtab import state as states
from trimtab.errors import AlreadyThere, CorruptState, NotThere, TakenOver
from trimtab.journal.store import Store

FOLDER = "manifests/"

_END = 1 << 16
"""Bytes at the end of a Parquet file that nearly always hold all that it says of itself."""


@dataclass(frozen=True)
class Manifest:
    """The Parquet files of one folder of a store.

    Attributes
    ----------
    folder
        The folder's name in the store.
    files
        Rows and bytes of each file, by its name in the folder.

    Examples
    --------
    >>> import tempfile
    >>> from trimtab.journal.store import store
    >>> place = store(tempfile.mkdtemp())
    >>> Manifest("panes/7", {"a.parquet": (100, 2048)}).check(place.sizes("panes/7"), place.uri)
    Traceback (most recent call last):
        ...
    trimtab.errors.CorruptState: ...panes/7/a.parquet is missing: ...
    """

    folder: str
    files: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, store: Store, folder: str) -> Self:
        """List what tasks have written to a folder, and count the rows of each file."""
        sizes = store.sizes(folder)
        starts = {name: max(0, size - _END) for name, size in sizes.items()}
        files = {}
        for (name, size), end in zip(sizes.items(), store.ends(starts), strict=True):
            if len(end) != size - starts[name]:
                raise CorruptState(f"{store.uri}/{name} changed while it was listed; start again")
            rows = _rows(store, name, size, end)
            files[name.removeprefix(f"{folder}/")] = (rows, size)
        return cls(folder, files)

    @property
    def rows(self) -> int:
        """How many rows all files hold."""
        return sum(rows for rows, _ in self.files.values())

    def write(self, store: Store) -> None:
        """Create the manifest in the store, under the name of its folder."""
        record = {
            "kind": "manifest",
            "folder": self.folder,
            "files": [[name, *facts] for name, facts in self.files.items()],
        }
        try:
            store.create(_name(self.folder), states.dump(record).encode())
        except AlreadyThere as error:
            raise TakenOver(
                f"{store.uri}/{_name(self.folder)} was written by another driver; this one stops "
                "and has lost nothing"
            ) from error

    @classmethod
    def read(cls, store: Store, folder: str) -> Self:
        """Read the manifest of a folder; one that is missing or damaged is refused by name."""
        source = f"{store.uri}/{_name(folder)}"
        try:
            record = states.parse(store.read(_name(folder)), source)
        except NotThere as error:
            raise CorruptState(
                f"{source} is missing, without which nobody knows what belongs to {folder}; "
                "put it back, or give another checkpoint"
            ) from error
        if record.get("kind") != "manifest" or record.get("folder") != folder:
            raise CorruptState(
                f"{source} holds the {record.get('kind')} of {record.get('folder')!r}, not the "
                f"manifest of {folder!r}: files of the checkpoint were mixed up"
            )
        return cls(folder, {name: (rows, size) for name, rows, size in record["files"]})

    def check(self, sizes: Mapping[str, int], uri: str) -> None:
        """Refuse a folder that does not hold what was written, by the name of the file.

        Parameters
        ----------
        sizes
            What `Store.sizes` says of the folder, or of one that it is in.
        uri
            The store's address, for the sentence of a refusal.
        """
        inside = f"{self.folder}/"
        here = {
            name.removeprefix(inside): size
            for name, size in sizes.items()
            if name.startswith(inside)
        }
        for name in sorted(here.keys() | self.files.keys()):
            rows, size = self.files.get(name, (0, None))
            found = here.get(name)
            if found == size:
                continue
            if found is None:
                what = f"is missing: a batch wrote it with {rows} rows in {size} bytes"
            elif size is None:
                what = "was not written by the batch that its folder belongs to"
            else:
                what = f"has {found} bytes, but was written with {size}"
            raise CorruptState(f"{uri}/{inside}{name} {what}; put back what was there")


def manifests(store: Store) -> list[str]:
    """Return the folders that have a manifest."""
    names = store.list(FOLDER)
    return [name.removeprefix(FOLDER).removesuffix(".json") for name in names]


def remove_manifest(store: Store, folder: str) -> None:
    """Remove the manifest of a folder; there need be none."""
    store.remove(_name(folder))


def _name(folder: str) -> str:
    return f"{FOLDER}{folder}.json"


def _rows(store: Store, name: str, size: int, end: bytes) -> int:
    """Return the rows of a Parquet file, from its end."""
    source = f"{store.uri}/{name}"
    if len(end) < 12 or end[-4:] != b"PAR1":
        raise CorruptState(f"{source} is no whole Parquet file; start the query again")
    facts = int.from_bytes(end[-8:-4], "little") + 8
    if facts > len(end):
        end = store.read_file(name, max(0, size - facts))
    try:
        return int(pq.read_metadata(pa.BufferReader(end)).num_rows)
    except pa.ArrowException as error:
        raise CorruptState(f"{source} is no whole Parquet file: {error}") from error
