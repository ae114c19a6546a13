"""The receiver: takes records, counts them as they come, and releases them as batches laid out.

    chunks ──► on disk ──► acknowledged
       │                                      freeze            release
       └──► rows and counts of this batch ──► plan ──► blocks ──► manifest ──► arrivals removed

A record is in the arrivals on disk before anybody is told that it is here, and stays there until it
is in a released batch. The manifest of the newest batch says which records batches hold, so that a
receiver that died goes on with the first that is in none: every record is in exactly one batch.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from trimtab.errors import AlreadyThere, InvalidArgument, NotThere, StoreFailed, TakenOver
from trimtab.histogram import Histogram
from trimtab.journal import moments
from trimtab.journal.epoch import Epoch, take_epoch
from trimtab.journal.store.local import LocalStore, sync_directory, write_through
from trimtab.partitioners import class_of, resolve
from trimtab.plan import Plan
from trimtab.receive.arrivals import Arrivals, Chunk
from trimtab.receive.buffer import PLANNED_KEYS_PER_BLOCK, Buffer
from trimtab.receive.log import Log, batch_folder
from trimtab.receive.manifest import BatchManifest
from trimtab.receive.offered import Offered, offered
from trimtab.receive.partners import Partners
from trimtab.receive.records import FORMATS, Lines, Parsed, Rejected
from trimtab.receive.shortened import shortened
from trimtab.routers.dalton import DaltonRouter

RECEIVERS = "receivers"
REJECTED = "rejected"

TOLD_KEYS_PER_BLOCK = 256
"""Keys that a manifest tells of. With all of a batch it would be megabytes, which take longer to
write and read than the keys are worth."""

MOST_CLIENTS = 10_000
"""Clients whose records are counted: each segment of the arrivals begins with all of them."""

REJECTED_BYTES = 8 << 20
"""Rejected records wait for a batch with rows, so that none is empty; but not more than these."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Receiver:
    """Takes chunks of records into the batch of this interval, and releases it.

    It has no clock and no thread: somebody calls `freeze` and `release` (see `running`). All
    methods may be called from several threads.

    Parameters
    ----------
    log
        Where batches go.
    name
        Who it is: a receiver that starts again under its name goes on where it was. Of two that run
        under one name the newer takes over, and the older stops.
    parameters
        Arguments of the log's planner or router, apart from the lanes.
    seed
        For partitioners that draw.
    partners
        Other receivers, whose Daltons learn together with this one's.

    Examples
    --------
    >>> import tempfile
    >>> log = Log.create(tempfile.mkdtemp(), schema="k string, x long", key="k", blocks=2)
    >>> with Receiver(log) as receiver:
    ...     _ = receiver.offer([{"k": "a", "x": 1}, {"k": "b", "x": 2}])
    ...     manifest = receiver.flush()
    >>> manifest.rows, manifest.arrivals
    (2, {'receiver': (0, 2)})
    """

    def __init__(
        self,
        log: Log,
        name: str = "receiver",
        *,
        parameters: Mapping[str, Any] | None = None,
        seed: int = 0,
        partners: Partners | None = None,
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidArgument(
                "the name of a receiver is up to 64 letters, digits, '_', '.' and '-', the first a "
                f"letter or digit; got {name!r}"
            )
        self.log, self.name = log, name
        if class_of(log.planner).takes_parameter("cooperate"):
            # One that waits for answers that nobody gives would learn nothing.
            parameters = {"cooperate": partners is not None, **(parameters or {})}
        self.partitioner = resolve(
            log.planner, log.blocks, split=True, parameters=parameters, seed=seed, in_stream=True
        )
        self.partners = partners
        if partners is not None and not isinstance(self.partitioner.router, DaltonRouter):
            raise InvalidArgument(
                f"partners were given, and {log.planner!r} learns nothing from others; give "
                "planner 'dalton', or no partners"
            )
        self._lines = {each: Lines(log.arrow_schema, each) for each in FORMATS}
        self._lock, self._releasing = threading.RLock(), threading.Lock()
        self._frozen: Buffer | None = None
        self._plan: Plan | None = None
        self.rejected = self.received = 0
        own = LocalStore(log.path / RECEIVERS / name)
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        self._epoch = Epoch(own, take_epoch(own, owner))
        self._known: tuple[int, Mapping[str, tuple[int, int]]] = (-1, {})
        """The newest batch that we have written ourselves, and what was in batches with it."""
        newest, spans = self._newest()
        self._next = newest + 1
        moments.at("epoch taken", self._next)
        self._remove_leftovers()
        _, end = spans.get(name, (0, 0))
        self.arrivals = Arrivals(own.root, self._epoch.number, end)
        self._buffer = self._new_buffer(end)
        for first, chunk in self.arrivals.recovered():
            self._buffer.add(first, chunk.records, *self._parsed(chunk))
        self.arrivals.begin_segment()
        self.arrivals.remove_strangers()

    @property
    def folder(self) -> Path:
        """What this receiver keeps for itself."""
        return self.log.path / RECEIVERS / self.name

    def _newest(self) -> tuple[int, Mapping[str, tuple[int, int]]]:
        """Return the newest batch, and which records batches hold up to it, by receiver."""
        while True:
            newest = self.log.newest()
            if newest == self._known[0]:
                return self._known
            try:
                return newest, self.log.manifest(newest).arrivals
            except NotThere:
                # It is gone if there is a newer one by now; otherwise somebody has removed it.
                if self.log.newest() == newest:
                    raise

    def _remove_leftovers(self) -> None:
        """Remove blocks that an attempt of ours has written to batches that it did not release."""
        for batch in self.log.folders():
            if batch >= self._next:
                folder = self.log.path / batch_folder(batch)
                for file in folder.glob(f"{self.name}-[0-9][0-9][0-9][0-9][0-9]-*.arrow"):
                    file.unlink(missing_ok=True)

    def _new_buffer(self, first: int) -> Buffer:
        return Buffer(self.log.arrow_schema, self.log.key, first, self.partitioner.router)

    def _parsed(self, chunk: Chunk) -> Parsed:
        if chunk.format == "too long":
            table = self.log.arrow_schema.empty_table()
            return Parsed(table, [Rejected(0, chunk.data, chunk.reason)])
        if chunk.format == "arrow":
            return Parsed(pa.ipc.open_stream(pa.BufferReader(chunk.data)).read_all(), [])
        return self._lines[chunk.format].parse(chunk.data)

    def take(self, chunks: Sequence[Chunk]) -> None:
        """Take chunks; when this returns they are on disk and belong to a batch.

        Raises
        ------
        StoreFailed
            If they could not be written; none of them was taken.
        TakenOver
            If another receiver of this name was started; none of them was taken.
        """
        # That a file was read to its end is news without records.
        chunks = [chunk for chunk in chunks if chunk.records or chunk.file is not None]
        if not chunks:
            return
        parsed = [self._parsed(chunk) for chunk in chunks]
        with self._lock:
            self._refuse_too_many_clients(chunks)
            first = self.arrivals.append(chunks)
            moments.at("arrivals written", self._next)
            # One that was taken over after this has written what the other one reads.
            self._epoch.check()
            for chunk, (table, rejected) in zip(chunks, parsed, strict=True):
                self._buffer.add(first, chunk.records, table, rejected)
                first += chunk.records
                self.received += chunk.records
                self.rejected += len(rejected)
            if self.partners is not None and isinstance(self.partitioner.router, DaltonRouter):
                self.partners.exchange(self.partitioner.router)

    def _refuse_too_many_clients(self, chunks: Sequence[Chunk]) -> None:
        known = self.arrivals.memory.clients
        new = {chunk.client for chunk in chunks if chunk.client is not None} - known.keys()
        if len(known) + len(new) > MOST_CLIENTS:
            raise InvalidArgument(
                f"{MOST_CLIENTS} clients have names already, and one more was given; let clients "
                "use their names again, or send without acknowledgements"
            )

    def offer(self, records: Offered) -> int:
        """Take records of this process: dicts, or an Arrow table; return how many.

        Columns that the schema does not name are passed over, those that are missing are null.
        """
        chunk = offered(records, self.log.arrow_schema)
        self.take([chunk])
        return chunk.records

    def durable(self, client: str) -> int:
        """Return how many records of a client are on disk."""
        with self._lock:
            return self.arrivals.memory.clients.get(client, 0)

    def files(self) -> dict[str, int]:
        """Return how far each file was read whose records are on disk."""
        with self._lock:
            return dict(self.arrivals.memory.files)

    def forget_files(self, names: Iterable[str]) -> None:
        """Forget files that are gone: one that comes under such a name is a new one."""
        with self._lock:
            for name in names:
                self.arrivals.memory.files.pop(name, None)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of the batch that is being received."""
        return self._buffer.bytes

    def waiting(self) -> int:
        """Return how many released batches Spark is not done with."""
        return self.log.newest() - self.log.committed().batch

    def freeze(self) -> bool:
        """End the batch: what comes from now on belongs to the next one.

        Returns whether there is something to release. A batch that was frozen before, and could
        not be released, comes first.
        """
        with self._lock:
            if self._frozen is not None:
                return True
            buffer = self._buffer
            if not buffer.rows and buffer.rejected_bytes < REJECTED_BYTES:
                return False
            self.arrivals.begin_segment()
            self._frozen, self._buffer = buffer, self._new_buffer(buffer.end)
            self._frozen_at = time.time()
            if self.partitioner.router is not None:
                self.partitioner.router.advance()
        moments.at("frozen", self._next)
        return True

    def release(self) -> BatchManifest | None:
        """Plan the frozen batch, write its blocks and its manifest; None if nothing is frozen.

        If it raises, the batch stays frozen, and can be released later.
        """
        with self._releasing:
            buffer = self._frozen
            if buffer is None:
                return None
            histogram = self._counted(buffer)
            plan = self._planned(histogram)
            lanes = buffer.lanes() if plan is None else plan.route(buffer.hashes())
            moments.at("planned", self._next)
            tables = buffer.cut(lanes, self.log.blocks)
            most = TOLD_KEYS_PER_BLOCK * self.log.blocks
            told = histogram.top(most).to_json()
            short = None if plan is None else shortened(plan, histogram, most)
            while True:
                manifest = self._written(buffer, tables, told, short)
                self._epoch.check()
                try:
                    self.log.release(manifest)
                except AlreadyThere:
                    # A receiver of another name was quicker: then ours is the next batch.
                    continue
                break
            moments.at("manifest written", manifest.batch)
            self._plan, self._frozen, self._next = plan, None, manifest.batch + 1
            self._known = manifest.batch, manifest.arrivals
            with self._lock:
                self.arrivals.forget(buffer.end)
            moments.at("arrivals removed", manifest.batch)
            return manifest

    def _counted(self, buffer: Buffer) -> Histogram:
        hosts = self.partitioner.hosts or self.log.blocks
        return buffer.histogram(hosts, PLANNED_KEYS_PER_BLOCK * self.log.blocks)

    def _planned(self, histogram: Histogram) -> Plan | None:
        if self.partitioner.plan is not None:
            return self.partitioner.plan
        if self.partitioner.planner is None:
            return None
        return self.partitioner.planner.plan(histogram, self._plan, exact=True)

    def _written(
        self, buffer: Buffer, tables: list[Any], histogram: str, plan: Plan | None
    ) -> BatchManifest:
        """Write the blocks as the next batch, and return the manifest that would release it."""
        newest, spans = self._newest()
        if spans.get(self.name, (0, 0))[1] != buffer.first:
            raise TakenOver(
                f"another receiver called {self.name!r} has released a batch of {self.log.path} "
                "meanwhile; this one stops and has lost nothing; let one of them run"
            )
        batch = newest + 1
        others = {name: (end, end) for name, (_, end) in spans.items()}
        try:
            blocks = self.log.write_blocks(batch, self.name, tables, secrets.token_hex(4))
            moments.at("blocks written", batch)
            if buffer.rejected:
                self._write_rejected(buffer)
        except OSError as error:
            raise StoreFailed(
                f"batch {batch} cannot be written to {self.log.path}: {error}; its records are "
                "kept and it is tried again; make room or mend the disk"
            ) from error
        return BatchManifest(
            batch=batch,
            blocks=blocks,
            rows=buffer.rows,
            histogram_json=histogram,
            plan_json=None if plan is None else plan.to_json(),
            router=None if plan is not None else self.partitioner.name,
            opened=buffer.opened,
            frozen=self._frozen_at,
            released=time.time(),
            arrivals={**others, self.name: (buffer.first, buffer.end)},
            rejected=len(buffer.rejected),
        )

    def _write_rejected(self, buffer: Buffer) -> None:
        """Write the records that were none, under the number of the batch's first record."""
        lines = [json.dumps(_told(number, each)) for number, each in buffer.rejected]
        folder = self.folder / REJECTED
        folder.mkdir(exist_ok=True)
        aside = folder / f".{secrets.token_hex(4)}"
        write_through(aside, ("\n".join(lines) + "\n").encode())
        aside.replace(folder / f"{buffer.first:020d}.jsonl")
        sync_directory(folder)

    def flush(self) -> BatchManifest | None:
        """Freeze and release what is here; None if there is nothing."""
        return self.release() if self.freeze() else None

    def close(self) -> None:
        """Let go of the files; what was not released is taken up when the receiver starts again."""
        self.arrivals.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _told(number: int, rejected: Rejected) -> dict[str, Any]:
    """Return a rejected record as JSON can hold it: its text, or its bytes in base64."""
    try:
        text = {"text": rejected.text.decode()}
    except UnicodeDecodeError:
        text = {"base64": base64.b64encode(rejected.text).decode()}
    return {"record": number, "reason": rejected.reason, **text}
