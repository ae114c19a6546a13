"""Arrivals on disk: what was received, written before it is acknowledged, read again after a crash.

    arrivals/<first record, 20 digits>-<epoch, 10 digits>-<token>

A segment is a file of groups. A group is what was written and forced to the disk at once: a header,
which says what chunks it holds and from whom, and the bytes of the chunks as they came. The first
group of a segment holds no chunks but the memory of the receiver: how many records of each client
are on disk, how far each file was read, and which bytes of older segments count.

So the newest segment with a whole first group says what counts; nothing else does. A receiver that
was taken over may go on writing to a segment of its own for a moment: what it adds is past the
length that counts, and it acknowledges nothing any more.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.errors import CorruptState, StoreFailed
from trimtab.journal.store.local import make_directories, sync_directory

FOLDER = "arrivals"

_CLOSED = -1

_HEAD = struct.Struct("<8sIQI")
"""The segment's token, the length of the header, that of the body, and a checksum of both."""


@dataclass(frozen=True)
class Chunk:
    """Records that came together, as they came.

    Attributes
    ----------
    format
        "json" or "csv": whole lines; "arrow": an Arrow stream; "too long": the beginning of a
        record that was too long to be taken.
    data
        The bytes.
    records
        How many records that are: lines, rows, or 1.
    client
        Who sent them, if that client's records are counted.
    file, read
        The file that they are from, and how many of its bytes were read with this chunk.
    reason
        For a record that is too long: what to tell.
    """

    format: str
    data: bytes
    records: int
    client: str | None = None
    file: str | None = None
    read: int = 0
    reason: str = ""


@dataclass
class Memory:
    """What a receiver knows of those who send.

    Attributes
    ----------
    clients
        Records on disk, by client.
    files
        Bytes that were read, by file.
    """

    clients: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def note(self, header: dict[str, Any]) -> None:
        """Count a chunk, told by its header."""
        client, file = header["client"], header["file"]
        if client is not None:
            self.clients[client] = self.clients.get(client, 0) + header["records"]
        if file is not None:
            self.files[file] = header["read"]


class Arrivals:
    """The segments of one receiver.

    Parameters
    ----------
    folder
        The receiver's own folder.
    epoch
        Number of the receiver's epoch: later segments have higher ones.
    from_record
        The first record that is in no released batch: those before it may be forgotten.

    Attributes
    ----------
    next
        Number that the next record gets.
    memory
        What is known of those who send.
    """

    def __init__(self, folder: Path, epoch: int, from_record: int) -> None:
        self.folder = folder / FOLDER
        self.epoch = epoch
        self.next = from_record
        self.memory = Memory()
        make_directories(self.folder)
        self._older: dict[str, tuple[int, int]] = {}
        """Of each segment before the newest, the length that counts and where its records end."""
        self._waiting: list[tuple[int, Chunk]] = []
        self._file = _CLOSED
        self._name, self._token, self._length = "", b"", 0
        self._read(from_record)

    def _read(self, from_record: int) -> None:
        """Find what counts; keep the chunks that are in no batch yet for `recovered`."""
        for newest in sorted(os.listdir(self.folder), key=_age, reverse=True):
            segment = _Segment(self.folder / newest, None)
            first = next(segment.groups(), None)
            if first is not None:
                break
        else:
            return
        state = first[0]["state"]
        for name, (length, end) in state["segments"].items():
            # Those that are in batches may have been removed since.
            if end > from_record:
                self._take(_Segment(self.folder / name, length), from_record)
                self._older[name] = length, end
        self.memory = Memory(dict(state["clients"]), dict(state["files"]))
        length = self._take(_Segment(self.folder / newest, None), from_record, self.memory)
        self._older[newest] = length, self.next

    def _take(self, segment: _Segment, from_record: int, memory: Memory | None = None) -> int:
        """Take the chunks of a segment up; return the length that counts."""
        for header, body in segment.groups():
            if "state" in header:
                self.next = max(self.next, header["state"]["next"])
                continue
            at, record = 0, header["first"]
            for told in header["chunks"]:
                data = body[at : at + told["bytes"]]
                at += told["bytes"]
                end = record + told["records"]
                if memory is not None:
                    memory.note(told)
                if record < from_record < end:
                    raise CorruptState(
                        f"{segment.path} holds records {record} to {end}, of which a batch has "
                        f"some and not all: files of this log were mixed up"
                    )
                if record >= from_record:
                    chunk = Chunk(data=data, **{name: told[name] for name in _TOLD})
                    self._waiting.append((record, chunk))
                record = end
            self.next = max(self.next, record)
        return segment.length

    def recovered(self) -> list[tuple[int, Chunk]]:
        """Return what is in no batch yet, each with the number of its first record; only once."""
        found, self._waiting = self._waiting, []
        return found

    def append(self, chunks: Sequence[Chunk]) -> int:
        """Write chunks so that they last, all with one wait for the disk; return the first number.

        Raises
        ------
        StoreFailed
            If they could not be written. Then none of them counts.
        """
        told = [
            {"bytes": len(chunk.data), **{name: getattr(chunk, name) for name in _TOLD}}
            for chunk in chunks
        ]
        first = self.next
        header = {"first": first, "chunks": told}
        self._write(header, b"".join(chunk.data for chunk in chunks))
        for each in told:
            self.memory.note(each)
        self.next = first + sum(chunk.records for chunk in chunks)
        return first

    def begin_segment(self) -> None:
        """Begin a new segment; what comes from now on can be kept when what came before is removed.

        Raises
        ------
        StoreFailed
            If it could not be made. Then the old one goes on.
        """
        token = os.urandom(8)
        name = f"{self.next:020d}-{self.epoch:010d}-{token.hex()}"
        older = dict(self._older)
        if self._name:
            older[self._name] = self._length, self.next
        state = {"next": self.next, "segments": older, **vars(self.memory)}
        group = _group(token, {"state": state}, b"")
        path = self.folder / name
        try:
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                _write_all(made, group)
                os.fsync(made)
                sync_directory(self.folder)
            except OSError:
                os.close(made)
                path.unlink()
                raise
        except OSError as error:
            raise self._failed(error) from error
        if self._name:
            self._older = older
            self.close()
        self._file, self._name, self._token, self._length = made, name, token, len(group)

    def forget(self, before: int) -> None:
        """Remove the segments whose records are all before this one.

        Parameters
        ----------
        before
            The first record that is in no released batch.
        """
        for name, (_, end) in list(self._older.items()):
            if end <= before:
                (self.folder / name).unlink(missing_ok=True)
                del self._older[name]

    def remove_strangers(self) -> None:
        """Remove segments of earlier epochs that do not count."""
        for name in os.listdir(self.folder):
            if name not in self._older and _age(name) < (f"{self.epoch:010d}",):
                (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the newest segment."""
        if self._file != _CLOSED:
            os.close(self._file)
            self._file = _CLOSED

    def _write(self, header: dict[str, Any], body: bytes) -> None:
        if self._file == _CLOSED:
            self.begin_segment()
        group = _group(self._token, header, body)
        try:
            _write_all(self._file, group)
        except OSError as error:
            self._cut_back()
            raise self._failed(error) from error
        try:
            os.fdatasync(self._file)
        except OSError as error:
            # What the disk has of it, nobody can say: nothing more is written behind it.
            self.close()
            raise self._failed(error) from error
        self._length += len(group)

    def _cut_back(self) -> None:
        """Remove half a group, which must not stand before the next one."""
        try:
            os.ftruncate(self._file, self._length)
            os.lseek(self._file, self._length, os.SEEK_SET)
        except OSError:
            self.close()

    def _failed(self, error: OSError) -> StoreFailed:
        return StoreFailed(
            f"arrivals cannot be written to {self.folder}: {error}; they were not acknowledged; "
            "make room or mend the disk"
        )


_TOLD = ("format", "records", "client", "file", "read", "reason")


class _Segment:
    """A segment that is read: whole groups up to the length that counts, if that is known."""

    def __init__(self, path: Path, length: int | None) -> None:
        self.path = path
        self.token = bytes.fromhex(path.name.rpartition("-")[2])
        try:
            self.data = path.read_bytes()[:length]
        except FileNotFoundError as error:
            raise CorruptState(
                f"{path} is missing: records that were acknowledged are in it; put it back"
            ) from error
        self.newest = length is None
        self.length = 0 if length is None else length

    def groups(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Return header and body of each group, in order.

        What follows the last whole group of the newest segment was being written when its writer
        died, and was not acknowledged. Anything else that is no group is damage.
        """
        at = 0
        while at < len(self.data):
            found = self._group_at(at)
            if found is None:
                if not self.newest or self._any_group_after(at):
                    raise CorruptState(
                        f"{self.path} is damaged at byte {at}, before groups that were "
                        "acknowledged; put back what was there"
                    )
                break
            header, body, at = found
            yield header, body
        if self.newest:
            self.length = at
        elif at < self.length:
            raise CorruptState(
                f"{self.path} has {at} bytes, of which {self.length} were acknowledged; put back "
                "what was there"
            )

    def _group_at(self, at: int) -> tuple[dict[str, Any], bytes, int] | None:
        if at + _HEAD.size > len(self.data):
            return None
        token, header_size, body_size, checksum = _HEAD.unpack_from(self.data, at)
        middle = at + _HEAD.size + header_size
        end = middle + body_size
        if token != self.token or end > len(self.data):
            return None
        if zlib.crc32(memoryview(self.data)[at + _HEAD.size : end]) != checksum:
            return None
        return json.loads(self.data[at + _HEAD.size : middle]), self.data[middle:end], end

    def _any_group_after(self, at: int) -> bool:
        # The token is random, so that no client can send what looks like a group.
        while (at := self.data.find(self.token, at + 1)) >= 0:
            if self._group_at(at) is not None:
                return True
        return False


def _group(token: bytes, header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header).encode()
    checksum = zlib.crc32(body, zlib.crc32(text))
    return b"".join([_HEAD.pack(token, len(text), len(body), checksum), text, body])


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _age(name: str) -> tuple[str, ...]:
    """Return what segments are ordered by: the epoch, then the first record."""
    first, epoch, _ = name.split("-")
    return epoch, first
