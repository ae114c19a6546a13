"""Connections: lines over TCP from many clients, written to disk together, then acknowledged.

While one group of chunks is on its way to the disk, the next one is read. The more clients there
are, the more chunks share one wait for the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any

from trimtab._checks import one_of, real, whole
from trimtab.errors import StoreFailed, TrimtabError
from trimtab.receive.arrivals import Chunk
from trimtab.receive.cutting import RECORD_BYTES
from trimtab.receive.records import FORMATS
from trimtab.receive.running import Running
from trimtab.receive.sources._client import READ_BYTES, Client, Ledger, Refused

HELD_SECONDS = 0.05
"""How often one who may not read looks again."""

RETRY_SECONDS = 1.0
"""How long to wait before a disk that was full is tried again."""


@dataclass(frozen=True)
class Limits:
    """What clients may do at most.

    Attributes
    ----------
    record_bytes
        Longest record, in bytes. Of a longer one the beginning is kept with the rejected records.
    connections
        Clients at once; further ones are told so and turned away.
    idle_seconds
        How long a client may send nothing.
    memory_bytes
        Bytes of all clients together that were read and are not on disk yet.
    """

    record_bytes: int = RECORD_BYTES
    connections: int = 1000
    idle_seconds: float = 300.0
    memory_bytes: int = 256 << 20

    def __post_init__(self) -> None:
        whole("record_bytes", self.record_bytes, 1)
        whole("connections", self.connections, 1)
        real("idle_seconds", self.idle_seconds, 0, low_open=True)
        whole("memory_bytes", self.memory_bytes, 1)


class TcpSource:
    """A server that takes lines from clients; see `protocol` for what they may ask for.

    Parameters
    ----------
    running
        The receiver with its clock.
    host, port
        Where it listens; port 0 is one that is free, see `address`.
    format
        What a line is unless the client says otherwise: "json" or "csv".
    limits
        What clients may do.
    secret
        What every client has to say first; None lets everybody in.
    tls
        Certificate and key, for connections that nobody can listen to.
    """

    def __init__(
        self,
        running: Running,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        format: str = "json",
        limits: Limits | None = None,
        secret: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.running, self.host, self.port = running, host, whole("port", port, 0, 65535)
        self.format = one_of("format", format, FORMATS)
        self.limits = limits or Limits()
        self.secret, self.tls = secret, tls
        self.failure: BaseException | None = None
        self.clients: set[Client] = set()
        self.turned_away = self.halves = 0
        self.ledger = Ledger()
        self._named: dict[str, Client] = {}
        self._thread = threading.Thread(target=self._run, name="trimtab-tcp", daemon=True)
        self._listening = threading.Event()
        self.address: tuple[str, int] = (host, port)

    def start(self) -> None:
        """Listen; when this returns, clients can connect.

        Raises
        ------
        StoreFailed
            If the address cannot be listened at.
        """
        self._thread.start()
        self._listening.wait()
        if self.failure is not None:
            raise StoreFailed(
                f"cannot listen at {self.host}:{self.port}: {self.failure}; give another address"
            ) from self.failure

    def stop(self) -> None:
        """Turn no more clients to the receiver, and let go of those that are there."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the server has ended; return whether it has."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self.failure = error
        finally:
            self._loop.close()
            self._listening.set()

    async def _serve(self) -> None:
        self._over, self._news, self._drained = (asyncio.Event() for _ in range(3))
        server = await asyncio.start_server(
            self._client, self.host, self.port, limit=READ_BYTES, ssl=self.tls, backlog=1024
        )
        self.address = server.sockets[0].getsockname()[:2]
        self._listening.set()
        works = (self._commit, self._watch, self._over.wait)
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(work()) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._over.set()
            server.close()
            for client in list(self.clients):
                client.hang_up("the receiver stops; what was acknowledged is kept")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(client.gone.wait() for client in list(self.clients)))
            for transport in self.ledger.leaving:
                transport.abort()
            await self._loop.shutdown_default_executor()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self.clients) >= self.limits.connections:
            self.turned_away += 1
            sentence = f"{self.limits.connections} clients are connected, which is all there may be"
            self.ledger.see_off(writer, f"{sentence}; try again later")
            return
        client = Client(reader, writer, self.limits.record_bytes, self.ledger)
        self.clients.add(client)
        try:
            await self._served(client)
        except Refused as refusal:
            client.hang_up(str(refusal))
        except (OSError, asyncio.CancelledError):
            pass  # it has hung up, or was hung up on
        finally:
            # What it sent before is still on its way to the disk.
            while client.ready and client.pending and not self._over.is_set():
                await self._drained_once()
            self.halves += client.cutter.held > 0
            self.clients.discard(client)
            if client.name is not None and self._named.get(client.name) is client:
                del self._named[client.name]
            client.end()

    async def _served(self, client: Client) -> None:
        while not client.pending:
            await self._may_read(client)
            if not await client.read():
                return
        client.greet(self.format, self.secret)
        if client.name is not None:
            await self._take_over(client.name, client)
        if client.acknowledge:
            client.acknowledge_records()
        client.ready = True
        more = True
        while more:
            if client.pending:
                self._news.set()
            await self._may_read(client)
            more = await client.read()
            if client.pause:
                pause, client.pause = client.pause, 0.0
                await asyncio.sleep(pause)

    async def _may_read(self, client: Client) -> None:
        while self.running.held or self._full(client):
            await self._drained_once(HELD_SECONDS)

    async def _take_over(self, name: str, client: Client) -> None:
        """Let an older connection of the same client end first, so that all it sent is counted."""
        while (older := self._named.get(name)) is not None:
            older.hang_up("this client has connected anew")
            await older.gone.wait()
        self._named[name] = client
        client.durable = self.running.receiver.durable(name)

    def _full(self, client: Client) -> bool:
        """Tell whether a client has to wait; refuse it if waiting would not help."""
        if client.pending_bytes > client.most_pending:
            return True
        if self.ledger.bytes <= self.limits.memory_bytes:
            return False
        if any(each.ready and each.pending for each in self.clients):
            return True
        raise Refused(
            "records that have only begun fill the memory of the receiver; send shorter ones"
        )

    async def _drained_once(self, timeout: float = 1.0) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._drained.wait(), timeout)

    async def _commit(self) -> None:
        """Write what all clients have sent, again and again, and tell those who asked."""
        while True:
            await self._news.wait()
            self._news.clear()
            while senders := [each for each in self.clients if each.ready and each.pending]:
                parcels = [(client, *client.parcel()) for client in senders]
                pause = await self._written([chunk for _, some, _ in parcels for chunk in some])
                for client, some, pieces in parcels:
                    client.taken(pieces, sum(chunk.records for chunk in some))
                    client.pause = pause
                self._drained.set()
                self._drained.clear()

    async def _written(self, chunks: list[Chunk]) -> float:
        while True:
            try:
                return await self._loop.run_in_executor(None, self.running.take, chunks)
            except StoreFailed:
                await asyncio.sleep(RETRY_SECONDS)

    async def _watch(self) -> None:
        """Hang up on those who are silent; end when the receiver has."""
        patience = self.limits.idle_seconds
        while True:
            await asyncio.sleep(min(1.0, patience / 4))
            if isinstance(self.running.failure, TrimtabError):
                raise self.running.failure
            now = time.monotonic()
            for client in list(self.clients):
                if now - client.heard > patience and not client.pending and not self.running.held:
                    client.hang_up(f"nothing was sent for {patience:g} seconds")


def tls_context(certificate: Any, private_key: Any) -> ssl.SSLContext:
    """Return what TLS needs of a server, from files in PEM form."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, private_key)
    except (OSError, ssl.SSLError) as error:
        raise StoreFailed(
            f"certificate {certificate} and key {private_key} cannot be used: {error}"
        ) from error
    return context
