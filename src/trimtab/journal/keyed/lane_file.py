"""A lane file: entries of a lane's state, written once, checked when it is first opened.

It is an Arrow IPC file without compression, so that a task maps it into memory and reads only the
pages that its keys are on.
"""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import Any, Self

import pyarrow as pa

from trimtab.errors import CorruptState, NotThere
from trimtab.journal.keyed.entries import NO_TIMEOUT, Entries
from trimtab.journal.store.base import Store
from trimtab.journal.store.local import LocalStore

ROWS_PER_BATCH = 1 << 20
"""Rows of a record batch; texts of one batch may hold 2 GB in all."""

MOST_OPEN = 256
"""Files that a process keeps open. Checking a file reads all of it, which is done once."""


@dataclass(frozen=True)
class LaneFile:
    """What a manifest says of a lane file.

    Attributes
    ----------
    name
        Its name in the checkpoint.
    rows, size, crc
        Entries, bytes, and the CRC-32 of all bytes.
    least_timeout
        The earliest timeout in it, `NO_TIMEOUT` if there is none.
    """

    name: str
    rows: int
    size: int
    crc: int
    least_timeout: int

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Read what `to_record` returned; a KeyError or TypeError means damage."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


def write_lane_file(store: Store, name: str, entries: Entries) -> LaneFile:
    """Write entries under a name that nobody has used; when this returns they last."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, entries.table.schema) as writer:
        writer.write_table(entries.table, max_chunksize=ROWS_PER_BATCH)
    data = sink.getvalue().to_pybytes()
    store.create(name, data)
    set_times = entries.timeouts[entries.timeouts != NO_TIMEOUT]
    least = int(set_times.min()) if set_times.size else NO_TIMEOUT
    return LaneFile(name, len(entries), len(data), zlib.crc32(data), least)


_OPEN: OrderedDict[tuple[str, str, int, tuple[int, ...]], Entries] = OrderedDict()


def open_lane_file(store: Store, file: LaneFile) -> Entries:
    """Return the entries of a file; one that is missing, cut or altered is refused by name.

    A file on a disk is mapped. Bytes are compared with the checksum when this process first opens
    the file, and again if its time or place on the disk has changed.
    """
    try:
        if not isinstance(store, LocalStore):
            return _cached(store.uri, file, (), lambda: pa.py_buffer(store.read(file.name)))
        path = store.root / file.name
        facts = os.stat(path)
    except (NotThere, FileNotFoundError) as error:
        raise CorruptState(
            f"{store.uri}/{file.name} is missing; without it the state cannot go on: put it back, "
            "or give another checkpoint"
        ) from error
    where = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
    return _cached(store.uri, file, where, lambda: pa.memory_map(str(path)).read_buffer())


def _cached(uri: str, file: LaneFile, where: tuple[int, ...], load: Any) -> Entries:
    known = (uri, file.name, file.crc, where)
    if known in _OPEN:
        _OPEN.move_to_end(known)
        return _OPEN[known]
    source = f"{uri}/{file.name}"
    data = load() if where == () or where[-1] else pa.py_buffer(b"")
    if data.size != file.size:
        raise CorruptState(
            f"{source} has {data.size} bytes, and the manifest speaks of {file.size}: it was cut "
            "or replaced"
        )
    if zlib.crc32(data) != file.crc:
        raise CorruptState(f"{source} is damaged: its checksum does not fit the manifest")
    _OPEN[known] = Entries(pa.ipc.open_file(data).read_all())
    while len(_OPEN) > MOST_OPEN:
        _OPEN.popitem(last=False)
    return _OPEN[known]
