"""A client that sends records at a rate, and goes on by itself where a connection was lost."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from trimtab.errors import InvalidArgument, StoreFailed
from trimtab.receive.drawn_records import SLOTS_PER_SECOND
from trimtab.receive.protocol import Greeting, answer

MOST_AT_ONCE = 20_000
"""Records that are made and sent at once, however late the sender is."""

MOST_AHEAD = 1_000_000
"""Records that may be sent and not acknowledged: what is sent again after a lost connection."""

_HUNG_UP = "the receiver has hung up"

_LAST_WORDS = 0.5
"""Seconds in which what was said before a connection broke is heard."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


class Numbered(Protocol):
    """Records that can be had again, by their number."""

    def lines(self, first: int, count: int) -> bytes:
        """Return so many records, from the first one on, as lines."""
        ...


class Sender:
    """Sends records to a receiver.

    With `acknowledge` and a client's name in the greeting, every record arrives exactly once: when
    a connection is lost, it connects again, asks what is on disk, and goes on with the next.
    Without, a lost connection is an error, since nobody knows what has arrived.

    Parameters
    ----------
    address
        Host and port.
    greeting
        What to ask for.
    tls
        Whom to trust, where the receiver speaks TLS.
    patience
        Seconds for which a receiver may be away before the sender gives up.

    Attributes
    ----------
    sent
        Number of the next record.
    durable
        Records that are on disk.
    reconnects
        How often a connection was lost.
    """

    def __init__(
        self,
        address: tuple[str, int],
        greeting: Greeting,
        *,
        tls: ssl.SSLContext | None = None,
        patience: float = 60.0,
    ) -> None:
        if greeting.acknowledge and greeting.client is None:
            raise InvalidArgument("acknowledgements need the name of a client; give one")
        self.address, self.greeting, self.tls, self.patience = address, greeting, tls, patience
        self.sent = self.durable = self.reconnects = 0
        self._socket: socket.socket | None = None
        self._heard, self._refusal = threading.Condition(), ""
        self._listener: threading.Thread | None = None

    def send(
        self,
        records: Numbered,
        due: Iterable[int],
        tell: Callable[[], None] = lambda: None,
    ) -> None:
        """Send records so that as many as are due were sent by the end of each slot.

        Parameters
        ----------
        records
            What to send.
        due
            Records due by the end of each slot, rising. What was sent in an earlier call, or before
            the connection was lost and is on disk, counts.
        tell
            Called after every slot.
        """
        self._connect()
        begun = time.monotonic()
        try:
            total = 0
            for slot, total in enumerate(due, start=1):
                self._send_until(records, total)
                tell()
                time.sleep(max(0.0, begun + slot / SLOTS_PER_SECOND - time.monotonic()))
            while self.greeting.acknowledge and self.durable < total:
                self._hear_of(total)
                self._send_until(records, total)
                tell()
            if not self.greeting.acknowledge:
                self._see_off()
        finally:
            self._close()

    def _send_until(self, records: Numbered, total: int) -> None:
        while self.sent < total:
            count = min(total - self.sent, MOST_AT_ONCE)
            try:
                if self._socket is None:
                    raise ConnectionError(self._refusal or _HUNG_UP)
                self._socket.sendall(records.lines(self.sent, count))
                self.sent += count
                if self.greeting.acknowledge and self.sent - self.durable > MOST_AHEAD:
                    self._hear_of(self.durable + 1)
            except OSError as error:
                self._lost(error)

    def _lost(self, error: OSError) -> None:
        if self._listener is not None:
            # What the receiver said last tells more than a broken pipe.
            self._listener.join(_LAST_WORDS)
        reason = self._refusal or error
        self._close()
        if not self.greeting.acknowledge:
            raise StoreFailed(
                f"the connection to {self._place} was lost after {self.sent} records: {reason}; "
                "nobody knows how many have arrived; send with acknowledgements to go on by itself"
            ) from error
        self.reconnects += 1
        self._connect()

    def _connect(self) -> None:
        """Connect, however often that takes, and ask what is on disk."""
        pause, end = _FIRST_PAUSE, time.monotonic() + self.patience
        while True:
            try:
                self._open()
                return
            except OSError as error:
                self._close()
                if time.monotonic() > end:
                    raise StoreFailed(
                        f"no receiver answers at {self._place}: {error}; start one with `trimtab "
                        "receive`"
                    ) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _open(self) -> None:
        made = socket.create_connection(self.address, timeout=self.patience)
        self._socket = made
        if self.tls is not None:
            self._socket = self.tls.wrap_socket(made, server_hostname=self.address[0])
        self._refusal = ""
        self._socket.sendall(self.greeting.line())
        answers = self._socket.makefile("rb")
        if self.greeting.acknowledge:
            line = answers.readline()
            if not line:
                raise ConnectionError("it hung up at once")
            self.durable = self.sent = answer(line)
        self._socket.settimeout(None)
        heard = (self._socket, answers)
        self._listener = threading.Thread(target=self._listen, args=heard, daemon=True)
        self._listener.start()

    def _listen(self, connection: socket.socket, answers: Iterable[bytes]) -> None:
        """Note what the receiver says, until it hangs up."""
        refusal = ""
        with contextlib.suppress(OSError, ValueError):
            for line in answers:
                try:
                    durable = answer(line)
                except InvalidArgument as error:
                    refusal = str(error)
                    break
                with self._heard:
                    if connection is self._socket:
                        self.durable = durable
                        self._heard.notify_all()
        with self._heard:
            if connection is self._socket:
                self._refusal, self._socket = refusal, None
                connection.close()
                self._heard.notify_all()

    def _hear_of(self, records: int) -> None:
        """Wait until so many are on disk; connect anew if the receiver is gone before."""
        with self._heard:
            self._heard.wait_for(
                lambda: self._socket is None or self.durable >= records, self.patience
            )
            if self.durable >= records:
                return
            gone = self._socket is None
        self._lost(ConnectionError(self._refusal or _HUNG_UP if gone else "it does not answer"))

    def _see_off(self) -> None:
        """Say that this was all, and hear whether the receiver has refused it."""
        connection, listener = self._socket, self._listener
        if connection is not None and listener is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
            listener.join(self.patience)
        if self._refusal:
            self._lost(ConnectionError(self._refusal))

    def _close(self) -> None:
        with self._heard:
            connection, self._socket = self._socket, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    @property
    def _place(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"
