"""Files: each that appears in a directory, exactly once; or standard input, to its end."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import BinaryIO

from trimtab._checks import one_of, real
from trimtab.errors import InvalidArgument, StoreFailed
from trimtab.receive.arrivals import Chunk
from trimtab.receive.cutting import RECORD_BYTES, LineCutter, Piece
from trimtab.receive.records import FORMATS
from trimtab.receive.running import Running

READ_BYTES = 1 << 20
HELD_SECONDS = 0.05
"""How often one who may not read asks again."""

DONE = -1
"""What is remembered of a file that was read to its end, in place of the bytes that were read."""


class Reading:
    """A thread that reads and lets the receiver take; base of the sources here.

    Parameters
    ----------
    running
        The receiver with its clock.
    format
        "json" or "csv".
    record_bytes
        Longest record that is taken.
    """

    def __init__(self, running: Running, format: str, record_bytes: int = RECORD_BYTES) -> None:
        self.running = running
        self.format = one_of("format", format, FORMATS)
        self.record_bytes = record_bytes
        self.failure: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name="trimtab-source", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the chunk that is being read, if reading is not waiting for more."""
        self._over.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until all is read, or nothing more can be; return whether it is."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _guarded(self) -> None:
        try:
            self._read()
        except BaseException as error:
            self.failure = error

    def _read(self) -> None:
        raise NotImplementedError

    def _wait_while_held(self) -> bool:
        """Wait until reading is allowed; return whether to go on."""
        while self.running.held and not self._over.is_set():
            self._over.wait(HELD_SECONDS)
            if self.running.failure is not None:
                raise self.running.failure
        return not self._over.is_set()

    def _taken(self, chunks: list[Chunk]) -> bool:
        """Let the receiver take chunks, however long the disk is full; return whether it has."""
        while not self._over.is_set():
            try:
                pause = self.running.take(chunks)
            except StoreFailed:
                self._over.wait(1.0)
                continue
            self._over.wait(pause)
            return True
        return False

    def _chunk(self, piece: Piece, file: str | None = None, read: int = 0) -> Chunk:
        kind = "too long" if piece.reason else self.format
        return Chunk(kind, piece.data, piece.records, None, file, read, piece.reason)


class FlowSource(Reading):
    """Everything that an open file, a pipe or standard input gives, to its end.

    The last line need not end with a line feed. What was read and not taken when the receiver dies
    is gone: a pipe cannot be read again.

    Parameters
    ----------
    running, format, record_bytes
        See `Reading`.
    flow
        The open file.
    """

    def __init__(
        self, running: Running, format: str, flow: BinaryIO, record_bytes: int = RECORD_BYTES
    ) -> None:
        super().__init__(running, format, record_bytes)
        self.flow = flow

    def _read(self) -> None:
        cutter = LineCutter(self.record_bytes)
        read = getattr(self.flow, "read1", self.flow.read)
        while self._wait_while_held():
            data = read(READ_BYTES)
            pieces = cutter.feed(data) if data else cutter.finish()
            if pieces and not self._taken([self._chunk(piece) for piece in pieces]):
                return
            if not data:
                return


class DirectorySource(Reading):
    """The files of a directory, each exactly once, in the order of their age.

    Let files appear whole, by renaming them into the directory; a file that grows afterwards is not
    looked at again. Names that begin with `.` or `_` are passed over. How far a file was read is on
    disk together with its records. Files that were read may be removed; one that is put there under
    the same name later is a new file.

    Parameters
    ----------
    running, format, record_bytes
        See `Reading`.
    directory
        The directory.
    every
        Seconds between two looks into it.
    """

    def __init__(
        self,
        running: Running,
        format: str,
        directory: str | os.PathLike[str],
        every: float = 0.2,
        record_bytes: int = RECORD_BYTES,
    ) -> None:
        super().__init__(running, format, record_bytes)
        self.directory = Path(directory)
        if not self.directory.is_dir():
            raise InvalidArgument(f"{directory!s} is no directory; make it, or give another one")
        self.every = real("every", every, 0, low_open=True)

    def _read(self) -> None:
        while True:
            for name in self.look():
                if not self._read_file(name):
                    return
            if self._over.wait(self.every):
                return

    def look(self) -> list[str]:
        """Return the files that are to be read, the oldest first; forget those that are gone."""
        found = {}
        with os.scandir(self.directory) as entries:
            for entry in entries:
                if entry.name[0] not in "._" and entry.is_file():
                    found[entry.name] = entry.stat().st_mtime_ns
        known = self.running.receiver.files()
        if gone := known.keys() - found.keys():
            self.running.receiver.forget_files(gone)
        new = [name for name in found if known.get(name) != DONE]
        return sorted(new, key=lambda name: (found[name], name))

    def _read_file(self, name: str) -> bool:
        """Take what was not read of a file; return whether to go on."""
        at = self.running.receiver.files().get(name, 0)
        cutter = LineCutter(self.record_bytes)
        try:
            opened = open(self.directory / name, "rb")  # noqa: SIM115 - closed below
        except FileNotFoundError:
            return True  # somebody was quicker
        with opened as file:
            file.seek(at)
            while self._wait_while_held():
                data = file.read(READ_BYTES)
                pieces = cutter.feed(data) if data else cutter.finish()
                chunks = []
                for piece in pieces:
                    at += piece.size
                    chunks.append(self._chunk(piece, name, at))
                if not data:
                    # That it was read to its end is noted with no records.
                    chunks.append(Chunk(self.format, b"", 0, None, name, DONE))
                if chunks and not self._taken(chunks):
                    return False
                if not data:
                    return True
        return False
