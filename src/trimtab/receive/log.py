"""The log of a receiver: batches in a directory, which Spark reads and then lets go of.

    log.json                     schema, key columns, blocks, interval and planner of the log
    receivers/<name>/            what a receiver keeps: arrivals, epochs, rejected records
    batches/<20 digits>/         the blocks of a batch: <name>-<block, 5 digits>-<token>.arrow
    batches/<20 digits>.json     its manifest, created once, after its blocks
    committed/<20 digits>        Spark is done with this batch and all before it
    processed/<20 digits>        how long Spark took up to this batch, until it is committed
    rate.json                    records per second that Spark can sustain

Batches are numbered from 0 without holes. One that has a manifest is released: it never changes,
and it stays until a marker in `committed` says that nobody needs it any more. A folder of blocks
without a manifest is of a receiver that is still writing, or that died.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from trimtab._checks import lane_count, real, whole
from trimtab._format import Format, write_whole
from trimtab.errors import AlreadyThere, CorruptState, InvalidArgument, NotThere
from trimtab.journal.store.local import LocalStore, sync_directory
from trimtab.keys import hash_keys
from trimtab.receive.ddl import arrow_schema
from trimtab.receive.manifest import BatchManifest, Block

_FORMAT = Format("trimtab.log", 1, "the log of a receiver")

SETTINGS = "log.json"
BATCHES = "batches"
COMMITTED = "committed"
RATE = "rate.json"

_WRITERS = 8
"""Blocks that are written at the same time."""


@dataclass(frozen=True)
class Committed:
    """What Spark has told of the batches that it is done with.

    Attributes
    ----------
    batch
        The newest of them.
    seconds
        How long the batch took to process; None if nobody has said.
    rows
        How many rows were processed in that time; None if nobody has said.
    """

    batch: int
    seconds: float | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Log:
    """A log, as its directory has it.

    Make one with `Log.create`, and open one that is there with `Log.open`.

    Attributes
    ----------
    path
        The directory, on a local disk or NFS.
    schema
        The columns of a record, as Spark writes a schema: `k string, x long`.
    key
        The key columns.
    blocks
        Number of blocks of a batch.
    interval
        Seconds from one batch to the next.
    planner
        Name of the partitioner that lays the blocks out.

    Examples
    --------
    >>> import tempfile
    >>> log = Log.create(tempfile.mkdtemp(), schema="k string, x long", key=["k"])
    >>> Log.open(log.path).arrow_schema.names, log.newest(), log.oldest()
    (['k', 'x'], -1, 0)
    """

    path: Path
    schema: str
    key: tuple[str, ...]
    blocks: int
    interval: float
    planner: str

    def __post_init__(self) -> None:
        lane_count(self.blocks, "blocks")
        real("interval", self.interval, 0, 86_400, low_open=True)
        names = self.arrow_schema.names
        if not self.key or len(set(self.key)) < len(self.key) or not set(self.key) <= set(names):
            raise InvalidArgument(
                f"the key is one or more different columns of the schema, which has "
                f"{', '.join(names)}; got {list(self.key)}"
            )
        # A type that cannot be hashed is refused here, not when the first record comes.
        hash_keys(self.arrow_schema.empty_table().select(list(self.key)))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        schema: str,
        key: str | Sequence[str],
        blocks: int = 8,
        interval: float = 1.0,
        planner: str = "prompt",
    ) -> Self:
        """Make the log in a directory, or open the one that is there.

        Blocks, interval and planner of a log may change from one start of the receiver to the next;
        schema and key may not.
        """
        columns = (key,) if isinstance(key, str) else tuple(key)
        made = cls(Path(os.path.abspath(path)), schema, columns, blocks, float(interval), planner)
        try:
            made.store.create(SETTINGS, made._settings().encode())
            return made
        except AlreadyThere:
            found = cls.open(path)
        for what, ours, theirs in (
            ("schema", made.arrow_schema, found.arrow_schema),
            ("key", made.key, found.key),
        ):
            if ours != theirs:
                given, there = (getattr(log, what) for log in (made, found))
                raise InvalidArgument(
                    f"{made.path} was made with the {what} {there!r}, and now {given!r} is given; "
                    "a log keeps its schema and key: give these, or another directory"
                )
        # The text of the schema stays what it was, as readers may compare it.
        made = replace(made, schema=found.schema)
        if found != made:
            write_whole(made.path / SETTINGS, made._settings())
            sync_directory(made.path)
        return made

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open the log that is in a directory."""
        place = Path(os.path.abspath(path))
        source = str(place / SETTINGS)
        try:
            text = (place / SETTINGS).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotThere(
                f"{place} holds no log of a receiver: {SETTINGS} is missing; start one there with "
                "`trimtab receive`, or give the directory of one"
            ) from error
        try:
            data = json.loads(text)
            _FORMAT.check(data, source)
            return cls(
                place,
                data["schema"],
                tuple(data["key"]),
                data["blocks"],
                data["interval"],
                data["planner"],
            )
        except CorruptState:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptState(f"{source} is damaged: {error}") from error

    def _settings(self) -> str:
        return json.dumps(
            {
                **_FORMAT.head(),
                "schema": self.schema,
                "key": list(self.key),
                "blocks": self.blocks,
                "interval": self.interval,
                "planner": self.planner,
            }
        )

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns of a record, as Arrow has them."""
        return arrow_schema(self.schema)

    @cached_property
    def store(self) -> LocalStore:
        """The directory as a store."""
        return LocalStore(self.path)

    def newest(self) -> int:
        """Return the number of the newest released batch, or -1 if there was none yet."""
        return max(self.committed().batch, max(self.released(), default=-1))

    def oldest(self) -> int:
        """Return the number of the oldest batch that is still there; one past the newest if none.

        Batches that Spark is done with count as gone, whether or not they were removed already.
        """
        return self.committed().batch + 1

    def released(self) -> list[int]:
        """Return the numbers of all batches that have a manifest, rising."""
        names = (name for name in self.store.entries(BATCHES) if name.endswith(".json"))
        return sorted(self._numbers(BATCHES, (name.removesuffix(".json") for name in names)))

    def manifest(self, batch: int) -> BatchManifest:
        """Return the manifest of a released batch.

        Raises
        ------
        NotThere
            If there is no such batch, or it was removed after Spark had committed it.
        CorruptState
            If it is damaged, or that of another batch.
        """
        name = f"{batch_folder(batch)}.json"
        found = BatchManifest.from_json(self.store.read(name).decode(), str(self.path / name))
        if found.batch != batch:
            raise CorruptState(
                f"{self.path / name} holds the manifest of batch {found.batch}: files of the log "
                "were mixed up"
            )
        return found

    def read_block(self, batch: int, block: Block) -> pa.Table:
        """Return the rows of a block, held to its size and checksum.

        Raises
        ------
        CorruptState
            If the file is missing, cut or altered.
        """
        path = self.path / batch_folder(batch) / block.file
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise CorruptState(
                f"{path} is missing: batch {batch} was written with {block.rows} rows in it; put "
                "it back, or start the query anew on batches that are there"
            ) from error
        if len(data) != block.bytes:
            what = f"has {len(data)} bytes, but was written with {block.bytes}"
        elif zlib.crc32(data) != block.crc32:
            what = "was altered: its checksum is not that of what was written"
        else:
            return self._rows(path, data)
        raise CorruptState(f"{path} {what}; put back what was there")

    def _rows(self, path: Path, data: bytes) -> pa.Table:
        try:
            table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
        except pa.ArrowException as error:
            raise CorruptState(f"{path} is no Arrow file: {error}") from error
        if table.schema != self.arrow_schema:
            raise CorruptState(f"{path} has columns {table.schema}, the log has {self.schema!r}")
        return table

    def write_blocks(
        self, batch: int, receiver: str, tables: Iterable[pa.Table], token: str
    ) -> tuple[Block, ...]:
        """Write the blocks of a batch so that they last; those without rows get no file.

        Parameters
        ----------
        batch, receiver
            Which batch, and who writes it.
        tables
            The rows of block 0, 1, ...
        token
            What no other attempt at this batch has in the names of its files.
        """
        folder = self.path / batch_folder(batch)
        folder.mkdir(parents=True, exist_ok=True)

        def write(number: int, table: Any) -> Block:
            name = f"{receiver}-{number:05d}-{token}.arrow"
            size, checksum = _write_table(folder / name, table)
            return Block(name, table.num_rows, size, checksum, receiver, number)

        # Disks take waits for several files at once, and give them back at once.
        with ThreadPoolExecutor(_WRITERS, "trimtab-blocks") as writers:
            waiting = [
                writers.submit(write, number, table)
                for number, table in enumerate(tables)
                if table.num_rows
            ]
            blocks = [each.result() for each in waiting]
        sync_directory(folder)
        sync_directory(folder.parent)
        return tuple(blocks)

    def release(self, manifest: BatchManifest) -> None:
        """Create the manifest of a batch: from now on the batch is there.

        Raises
        ------
        AlreadyThere
            If somebody else has released a batch of this number.
        """
        self.store.create(f"{batch_folder(manifest.batch)}.json", manifest.to_json().encode())

    def commit(self, batch: int, seconds: float | None = None, rows: int | None = None) -> None:
        """Say that a batch and all before it are done with, so that the receiver may forget them.

        Parameters
        ----------
        batch
            A released batch; one that was committed before is passed over.
        seconds, rows
            How long the newest batch took to process, and how many rows that were. The receiver
            finds out from them how many records it may take.
        """
        whole("batch", batch, 0, self.newest())
        if batch <= self.committed().batch:
            return
        known = {"seconds": seconds, "rows": rows}
        text = json.dumps({name: value for name, value in known.items() if value is not None})
        try:
            self.store.create(f"{COMMITTED}/{batch:020d}", text.encode())
        except AlreadyThere:
            return

    def committed(self) -> Committed:
        """Return the newest batch that is done with, and what is known of it; -1 if none is."""
        numbers = self._numbers(COMMITTED, self.store.entries(COMMITTED))
        newest = max(numbers, default=-1)
        if newest < 0:
            return Committed(-1)
        try:
            data = json.loads(self.store.read(f"{COMMITTED}/{newest:020d}") or b"{}")
            return Committed(newest, data.get("seconds"), data.get("rows"))
        except NotThere:
            # A receiver has put a newer marker in its place meanwhile.
            return self.committed()
        except (ValueError, AttributeError) as error:
            raise CorruptState(
                f"{self.path / COMMITTED / f'{newest:020d}'} is damaged: {error}"
            ) from error

    def forget_committed(self) -> list[int]:
        """Remove the batches that are done with, and all markers but the newest; return the former.

        The manifest of the newest batch stays even then: it says how far a receiver has come. Only
        the receiver calls this.
        """
        done, released = self.committed().batch, self.released()
        gone = [batch for batch in released[:-1] if batch <= done]
        for batch in gone:
            self.store.remove(f"{batch_folder(batch)}.json")
        for batch in self.folders():
            if batch <= done:
                self.store.remove_folder(batch_folder(batch))
        for marker in self._numbers(COMMITTED, self.store.entries(COMMITTED)):
            if marker < done:
                self.store.remove(f"{COMMITTED}/{marker:020d}")
        return gone

    def folders(self) -> list[int]:
        """Return the numbers of all batches that have a folder of blocks, rising."""
        names = (name for name in self.store.entries(BATCHES) if not name.endswith(".json"))
        return sorted(self._numbers(BATCHES, names))

    def _numbers(self, folder: str, names: Iterable[str]) -> list[int]:
        numbers = []
        for name in names:
            if len(name) != 20 or not name.isdecimal():
                raise CorruptState(
                    f"{self.path / folder / name} is no part of a log; move it elsewhere"
                )
            numbers.append(int(name))
        return numbers


def batch_folder(batch: int) -> str:
    """Return the name of a batch's folder in the log; its manifest has it, too, with `.json`.

    >>> batch_folder(7)
    'batches/00000000000000000007'
    """
    return f"{BATCHES}/{whole('batch', batch, 0):020d}"


def _write_table(path: Path, table: Any) -> tuple[int, int]:
    """Write an Arrow file through to the disk; return its size and checksum."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue()
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return data.size, zlib.crc32(data)
