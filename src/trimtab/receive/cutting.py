"""From a flow of bytes to whole lines; a line that never seems to end is not kept in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RECORD_BYTES = 1 << 20
"""Longest record that is taken, unless somebody says otherwise."""

SHOWN_BYTES = 1024
"""How much of a record that is too long is kept, so that people can tell what it was."""


@dataclass(frozen=True)
class Piece:
    """Whole lines, or the beginning of one that is too long.

    Attributes
    ----------
    data
        The lines; the last one ends with a line feed, or is the last of all.
    records
        How many lines they are.
    size
        How many bytes of the flow it stands for.
    reason
        Empty, or why the line is no record.
    """

    data: bytes
    records: int
    size: int
    reason: str = ""


class LineCutter:
    r"""Cuts a flow of bytes into lines, whatever pieces it comes in.

    Parameters
    ----------
    record_bytes
        Longest line that is let through. Of a longer one only the beginning is kept.

    Examples
    --------
    >>> cutter = LineCutter(record_bytes=8)
    >>> [piece.data for part in (b"a\nb", b"c\nd") for piece in cutter.feed(part)]
    [b'a\n', b'bc\n']
    >>> cutter.feed(b"123456789"), cutter.held
    ([], 10)
    >>> [(piece.data, piece.records, piece.size) for piece in cutter.feed(b"0\ne\n")]
    [(b'd1234567890', 1, 12), (b'e\n', 1, 2)]
    """

    def __init__(self, record_bytes: int = RECORD_BYTES) -> None:
        self.record_bytes = record_bytes
        self._rest: list[bytes] = []
        self.held = 0
        """Bytes of a line that has begun, as far as they are kept."""
        self._length = 0

    def feed(self, data: bytes) -> list[Piece]:
        """Take bytes; return the lines that are whole now."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._hold(data)
            return []
        pieces = []
        if self._length:
            first = data.find(b"\n") + 1
            self._hold(data[:first])
            pieces = self.finish()
            data, end = data[first:], end - first
        whole, rest = data[:end], data[end:]
        self._hold(rest)
        if len(whole) > self.record_bytes + 1:
            return pieces + self._without_long_lines(whole)
        if whole:
            pieces.append(Piece(whole, whole.count(b"\n"), len(whole)))
        return pieces

    def finish(self) -> list[Piece]:
        """Return the line that has begun as if it was whole; none if none has."""
        if not self._length:
            return []
        line, length = b"".join(self._rest), self._length
        self._rest, self.held, self._length = [], 0, 0
        return [self._piece(line, length)]

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._length += len(part)
        if self._length <= self.record_bytes + 1:
            self._rest.append(part)
            self.held += len(part)
        elif self.held != SHOWN_BYTES:
            self._rest = [b"".join([*self._rest, part[:SHOWN_BYTES]])[:SHOWN_BYTES]]
            self.held = len(self._rest[0])

    def _piece(self, line: bytes, length: int) -> Piece:
        if length - line.endswith(b"\n") <= self.record_bytes and length == len(line):
            return Piece(line, 1, length)
        reason = f"it has {length} bytes, and at most {self.record_bytes} are taken"
        return Piece(line[:SHOWN_BYTES].rstrip(b"\n"), 1, length, reason)

    def _without_long_lines(self, data: bytes) -> list[Piece]:
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
        starts = np.concatenate(([0], ends[:-1]))
        long = np.flatnonzero(ends - starts > self.record_bytes + 1)
        pieces, done = [], 0
        for at in long.tolist():
            start, end = int(starts[at]), int(ends[at])
            if start > done:
                between = data[done:start]
                pieces.append(Piece(between, between.count(b"\n"), len(between)))
            pieces.append(self._piece(data[start:end], end - start))
            done = end
        if done < len(data):
            pieces.append(Piece(data[done:], data.count(b"\n", done), len(data) - done))
        return pieces
