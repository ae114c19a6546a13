"""One client of the server: what it asked for, what it has sent, what it was told."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

from trimtab.errors import InvalidArgument
from trimtab.receive.arrivals import Chunk
from trimtab.receive.cutting import LineCutter, Piece
from trimtab.receive.protocol import durable_line, error_line, greeting, same_secret

READ_BYTES = 1 << 17

MOST_PENDING = 4 << 20
"""Bytes that a client may be ahead of the disk: as many share one wait for it."""

MOST_UNHEARD = 1 << 14
"""Bytes of acknowledgements that may wait for a client to hear them."""

LAST_WORDS_SECONDS = 1.0
"""How long a client that is hung up on may take to hear why."""


class Refused(Exception):
    """The client is hung up on; the text says why."""


@dataclass
class Ledger:
    """What is known of all clients together.

    Attributes
    ----------
    bytes
        What they have sent and is not on disk.
    leaving
        Connections whose clients are being told why they end.
    """

    bytes: int = 0
    leaving: set[Any] = field(default_factory=set)

    def see_off(self, writer: asyncio.StreamWriter, reason: str) -> None:
        """Tell a client why the connection ends, and give it a moment to hear that.

        Closed at once, with bytes of the client unread, a connection is reset, and what was said
        last is lost on the way.
        """
        transport: Any = writer.transport
        if transport.is_closing() or transport in self.leaving:
            return
        with contextlib.suppress(OSError, RuntimeError):
            writer.write(error_line(reason))
            if not transport.can_write_eof():
                transport.close()
                return
            writer.write_eof()
            transport.pause_reading()
            self.leaving.add(transport)
            asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self._let_go, transport)

    def _let_go(self, transport: Any) -> None:
        transport.abort()
        self.leaving.discard(transport)


class Client:
    """A connection: bytes in, acknowledgements out.

    Parameters
    ----------
    reader, writer
        The connection.
    record_bytes
        Longest record that is taken.
    ledger
        Where its bytes are counted beside those of others.

    Attributes
    ----------
    name
        Under which name its records are counted; None if under none.
    acknowledge
        Whether it wants to hear what is on disk.
    durable
        How many of its records are on disk.
    pending
        Lines that are not.
    ready
        Whether it is known how its records are to be taken.
    pause
        Seconds to wait before more is read.
    gone
        Set once nothing more of it will come.
    """

    most_pending = MOST_PENDING

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        record_bytes: int,
        ledger: Ledger,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._ledger, self._counted = ledger, 0
        self.cutter = LineCutter(record_bytes)
        self.format = "json"
        self.name: str | None = None
        self.acknowledge = False
        self.durable = 0
        self.ready = False
        self.pause = 0.0
        self.pending: list[Piece] = []
        self.pending_bytes = 0
        self.heard = time.monotonic()
        self.gone = asyncio.Event()

    def _count(self, held: int) -> None:
        """Tell the ledger how many bytes are held now."""
        self._ledger.bytes += held - self._counted
        self._counted = held

    def greet(self, format: str, secret: str | None) -> None:
        """Do what the first line asks for, if it asks for something; it is there, and whole."""
        self.format = format
        first = self.pending[0]
        line, _, rest = first.data.partition(b"\n")
        try:
            said = greeting(line) if not first.reason else None
        except InvalidArgument as error:
            raise Refused(str(error)) from error
        if secret is not None and (said is None or not same_secret(said.secret, secret)):
            raise Refused("the secret is missing or wrong; say it in the first line")
        if said is None:
            return
        self.pending_bytes -= len(line) + 1
        self.pending[:1] = [Piece(rest, first.records - 1, len(rest))] if rest else []
        self.format = said.format or format
        self.name, self.acknowledge = said.client, said.acknowledge

    async def read(self) -> bool:
        """Read what is there, or wait for it; return whether there may be more."""
        data = await self._reader.read(READ_BYTES)
        self.heard = time.monotonic()
        pieces = self.cutter.feed(data)
        self.pending += pieces
        self.pending_bytes += sum(len(piece.data) for piece in pieces)
        self._count(self.pending_bytes + self.cutter.held)
        return bool(data)

    def parcel(self) -> tuple[list[Chunk], int]:
        """Return all that is pending, as chunks, and how many pieces that are; it stays pending."""
        chunks: list[Chunk] = []
        lines: list[Piece] = []

        def close() -> None:
            if lines:
                data = b"".join(piece.data for piece in lines)
                records = sum(piece.records for piece in lines)
                chunks.append(Chunk(self.format, data, records, self.name))
                lines.clear()

        for piece in self.pending:
            if piece.reason:
                close()
                chunks.append(Chunk("too long", piece.data, 1, self.name, reason=piece.reason))
            else:
                lines.append(piece)
        close()
        return chunks, len(self.pending)

    def taken(self, pieces: int, records: int) -> None:
        """Note that the first pending pieces are on disk, and say so."""
        self.pending_bytes -= sum(len(piece.data) for piece in self.pending[:pieces])
        del self.pending[:pieces]
        self._count(self.pending_bytes + self.cutter.held)
        self.durable += records
        if self.acknowledge:
            self.acknowledge_records()

    def acknowledge_records(self) -> None:
        """Tell the client how many of its records are on disk."""
        # One that does not listen gets a later line, which says all that this one does.
        if self._writer.transport.get_write_buffer_size() < MOST_UNHEARD:
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.write(durable_line(self.durable))

    def hang_up(self, reason: str) -> None:
        """Tell the client why, and end the connection."""
        self._ledger.see_off(self._writer, reason)
        # Whoever waits for more of it finds the end.
        self._reader.feed_eof()

    def end(self) -> None:
        """Note that nothing more of it will come."""
        self._count(0)
        self.gone.set()
        if self._writer.transport not in self._ledger.leaving:
            self._writer.close()
