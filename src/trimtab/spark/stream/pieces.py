"""Partial results of a stream in its checkpoint: tasks write them, the driver lists them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.errors import CorruptState
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.manifest import Manifest
from trimtab.journal.store.local import LocalStore

BYTES_PER_TASK = 1 << 22
"""Bytes of pieces that are worth a task: Spark gives one to every file, which takes longer to start
than a small file to read."""


class Pieces:
    """The pieces that a batch may read, and those that it writes, by their names.

    Parameters
    ----------
    place
        The checkpoint.
    folders
        The folder of each piece, as the state of the batch before has it.
    manifests
        Those that earlier batches have read, by folder, for later ones: they never change.
    """

    def __init__(
        self,
        place: Checkpoint,
        folders: Mapping[str, str],
        manifests: dict[str, Manifest],
    ) -> None:
        self._place = place
        self._folders = dict(folders)
        self._manifests = manifests

    def kept(self, names: Collection[str]) -> dict[str, str]:
        """Forget all pieces but some; return their folders, for the state of this batch."""
        self._folders = {name: self._folders[name] for name in sorted(names)}
        for folder in self._manifests.keys() - self._folders.values():
            del self._manifests[folder]
        return self._folders

    def write(self, pieces: DataFrame, name: str) -> None:
        """Write a piece and its manifest."""
        store = self._place.store
        folder = self._place.folder("panes", name)
        # They are read again within minutes: compressing them costs more time than it saves.
        writer = pieces.write.mode("overwrite").option("compression", "none")
        writer.parquet(f"{store.uri}/{folder}")
        manifest = Manifest.of(store, folder)
        manifest.write(store)
        self._folders[name] = folder
        self._manifests[folder] = manifest

    def read(self, session: SparkSession, names: Sequence[str], kind: T.StructType) -> DataFrame:
        """Read pieces as a frame of the given type, once it is sure that all of each is there."""
        store = self._place.store
        sizes = store.sizes("panes")
        folders = [self._folder(name) for name in names]
        for folder in folders:
            if folder not in self._manifests:
                self._manifests[folder] = Manifest.read(store, folder)
            self._manifests[folder].check(sizes, store.uri)
        # Whatever the session's settings are, a file that vanishes from now on is an error.
        reader = session.read.schema(kind).option("ignoreMissingFiles", "false")
        reader = reader.option("ignoreCorruptFiles", "false")
        return reader.parquet(*(f"{store.uri}/{folder}" for folder in folders))

    def read_together(self, session: SparkSession, name: str, kind: T.StructType) -> DataFrame:
        """Read one piece in as few tasks as its size asks for."""
        frame = self.read(session, [name], kind)
        size = sum(size for _, size in self._manifests[self._folder(name)].files.values())
        return frame.coalesce(-(-size // BYTES_PER_TASK) or 1)

    def texts(self, session: SparkSession, name: str, kind: T.StructType, column: str) -> list[str]:
        """Return the texts in a column of a piece, without nulls, in any order.

        On a disk of this machine that column alone is read, without a job of Spark's.
        """
        store = self._place.store
        if not isinstance(store, LocalStore):
            found = self.read(session, [name], kind).where(f"{column} IS NOT NULL")
            return [str(row[0]) for row in found.select(column).collect()]
        folder = self._folder(name)
        self._manifests[folder].check(store.sizes("panes"), store.uri)
        texts: list[str] = []
        for file in self._manifests[folder].files:
            values = pq.read_table(store.root / folder / file, columns=[column])[column]
            texts += values.drop_null().to_pylist()
        return texts

    def _folder(self, name: str) -> str:
        try:
            return self._folders[name]
        except KeyError:
            raise CorruptState(
                f"the state of the batch before in {self._place.uri} knows no piece {name!r}: "
                "files of the checkpoint were mixed up"
            ) from None
