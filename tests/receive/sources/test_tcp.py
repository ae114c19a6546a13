from __future__ import annotations

import json
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.receive.logs import eventually, log, numbers, text
from trimtab.errors import StoreFailed
from trimtab.receive import Log, Receiver, Running
from trimtab.receive.protocol import Greeting
from trimtab.receive.sources.tcp import Limits, TcpSource, tls_context


class Peer:
    """A client that says exactly what a test wants."""

    def __init__(self, address: tuple[str, int], greeting: Greeting | None = None) -> None:
        self.socket = socket.create_connection(address, timeout=10)
        self.heard = self.socket.makefile("rb")
        if greeting is not None:
            self.say(greeting.line())

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def hear(self) -> Any:
        line = self.heard.readline()
        return json.loads(line) if line else None

    def hear_durable(self, records: int) -> None:
        while (said := self.hear())["durable"] < records:
            pass
        assert said == {"durable": records}

    def close(self) -> None:
        self.heard.close()
        self.socket.close()


@pytest.fixture
def place(tmp_path: Path) -> Log:
    return log(tmp_path)


@contextmanager
def serving(place: Log, **settings: Any) -> Iterator[TcpSource]:
    with Receiver(place) as made:
        clock = Running(made, **settings.pop("running", {}))
        source = TcpSource(clock, **settings)
        source.start()
        try:
            yield source
        finally:
            source.stop()
        made.flush()


def received(source: TcpSource, records: int) -> None:
    eventually(lambda: source.running.receiver.received >= records)


def test_lines_of_several_clients_and_both_formats(place: Log) -> None:
    with serving(place) as source:
        peers = [Peer(source.address) for _ in range(3)]
        peers.append(Peer(source.address, Greeting(format="csv")))
        for at, peer in enumerate(peers[:3]):
            data = text(range(10), 10 * at)
            peer.say(data[:37])
            peer.say(data[37:])
        peers[3].say(b"1,30\n2,31\n")
        peers[0].say(b'{"k": "\xff"}\n')
        for peer in peers:
            peer.close()
        received(source, 33)
        eventually(lambda: not source.clients)
    assert numbers(place) == list(range(32))
    assert place.manifest(0).rejected == 1


def test_a_client_hears_what_is_on_disk_and_goes_on_from_there(place: Log) -> None:
    named = Greeting(client="ann", acknowledge=True)
    with serving(place) as source:
        peer = Peer(source.address, named)
        assert peer.hear() == {"durable": 0}
        peer.say(text(range(5)))
        peer.hear_durable(5)
        peer.say(text([1], 5) + b'{"k": 1, "x"')
        peer.hear_durable(6)
        peer.close()
        eventually(lambda: not source.clients)
        assert source.halves == 1
        nameless = Peer(source.address, Greeting(acknowledge=True))
        assert nameless.hear() == {"durable": 0}
        nameless.say(text([1], 6))
        nameless.hear_durable(1)
        nameless.close()
    with serving(place) as source:
        peer = Peer(source.address, named)
        assert peer.hear() == {"durable": 6}
        peer.say(text(range(2), 7))
        peer.hear_durable(8)
        # It connects anew: the older connection ends, and the newer hears of all that it sent.
        again = Peer(source.address, named)
        assert again.hear() == {"durable": 8}
        assert peer.hear() == {"error": "this client has connected anew"}
        assert peer.hear() is None
        for each in (peer, again):
            each.close()
    assert numbers(place) == list(range(9))


def test_who_does_not_know_the_secret_is_not_heard(place: Log) -> None:
    with serving(place, secret="open sesame") as source:
        for first in (text([1]), Greeting().line() + text([1]), Greeting(secret="?").line()):
            peer = Peer(source.address)
            peer.say(first)
            assert "secret is missing or wrong" in peer.hear()["error"]
            peer.close()
        # Also one that has much more to say hears why.
        peer = Peer(source.address)
        peer.say(Greeting(secret="?").line() + text(range(20_000)))
        assert "secret is missing or wrong" in peer.hear()["error"]
        peer.close()
        peer = Peer(source.address)
        peer.say(b'{"trimtab": 1, "colour": "red"}\n')
        assert "'colour' is unknown" in peer.hear()["error"]
        peer.close()
        friend = Peer(source.address, Greeting(secret="open sesame", acknowledge=True))
        friend.say(text([1]))
        friend.hear_durable(1)
        friend.close()
    assert numbers(place) == [0]


def test_a_record_of_a_hundred_megabytes_is_counted_and_not_kept(place: Log) -> None:
    with serving(place) as source:
        peer = Peer(source.address, Greeting(client="big", acknowledge=True))
        peer.say(text([1]))
        most = 0
        part = b"x" * (1 << 20)
        for _ in range(100):
            peer.say(part)
            most = max(most, source.ledger.bytes)
        peer.say(b"\n" + text([1], 1))
        peer.hear_durable(3)
        assert most < 3 << 20
        peer.close()
    manifest = place.manifest(0)
    assert (numbers(place), manifest.rejected) == ([0, 1], 1)
    (path,) = (place.path / "receivers/receiver/rejected").iterdir()
    told = json.loads(path.read_text())
    assert told["reason"] == "it has 104857601 bytes, and at most 1048576 are taken"
    assert told["text"] == 1024 * "x"


@pytest.mark.slow
def test_a_thousand_connections_and_one_more(place: Log) -> None:
    with serving(place) as source:
        peers = [Peer(source.address) for _ in range(1000)]
        eventually(lambda: len(source.clients) == 1000)
        late = Peer(source.address)
        assert late.hear() == {
            "error": "1000 clients are connected, which is all there may be; try again later"
        }
        late.close()
        for at, peer in enumerate(peers):
            peer.say(text([at], at))
        received(source, 1000)
        for peer in peers:
            peer.close()
        eventually(lambda: not source.clients)
        assert source.turned_away == 1
        after = Peer(source.address, Greeting(acknowledge=True))
        assert after.hear() == {"durable": 0}
        after.close()
    assert numbers(place) == list(range(1000))


def test_a_client_that_sends_nothing_is_let_go(place: Log) -> None:
    with serving(place, limits=Limits(idle_seconds=0.3)) as source:
        silent, chatty = Peer(source.address), Peer(source.address)
        end = time.monotonic() + 0.7
        while time.monotonic() < end:
            chatty.say(text([1]))
            time.sleep(0.05)
        assert silent.hear() == {"error": "nothing was sent for 0.3 seconds"}
        assert silent.hear() is None
        assert len(source.clients) == 1
        for peer in (silent, chatty):
            peer.close()


def test_records_that_only_begin_do_not_fill_the_memory(place: Log) -> None:
    limits = Limits(record_bytes=1 << 16, memory_bytes=1 << 17)
    with serving(place, limits=limits) as source:
        peers = [Peer(source.address) for _ in range(6)]
        for peer in peers:
            peer.say(b"x" * 60_000)
        eventually(lambda: len(source.clients) < 4)
        assert source.ledger.bytes <= limits.memory_bytes + (1 << 17)
        assert any("fill the memory" in (peer.hear() or {}).get("error", "") for peer in peers[2:5])
        for peer in peers:
            peer.close()


def test_nothing_is_read_while_batches_wait(place: Log) -> None:
    with serving(place, running={"waiting": 2}) as source:
        clock = source.running
        peer = Peer(source.address, Greeting(acknowledge=True))
        for batch in range(2):
            peer.say(text([1], batch))
            peer.hear_durable(batch + 1)
            clock.beat()
        clock.beat()
        assert clock.held
        peer.say(text([1], 2))
        peer.say(text([1], 3))
        time.sleep(0.2)
        # What was being waited for when reading stopped may still come in, and no more.
        assert source.running.receiver.received <= 3
        place.commit(0)
        clock.beat()
        peer.hear_durable(4)
        peer.close()
    assert numbers(place) == [1, 2, 3]


def test_a_full_disk_lets_clients_wait(place: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    from trimtab.receive.sources import tcp

    monkeypatch.setattr(tcp, "RETRY_SECONDS", 0.02)
    with serving(place) as source:
        take, tried = source.running.take, []

        def full(chunks: Any) -> float:
            tried.append(chunks)
            if len(tried) < 4:
                raise StoreFailed("no room")
            return take(chunks)

        monkeypatch.setattr(source.running, "take", full)
        peer = Peer(source.address, Greeting(acknowledge=True))
        peer.say(text(range(3)))
        peer.hear_durable(3)
        assert len(tried) == 4
        peer.close()
    assert numbers(place) == [0, 1, 2]


def test_the_server_ends_with_its_receiver(place: Log) -> None:
    with Receiver(place) as made:
        source = TcpSource(Running(made))
        source.start()
        peer = Peer(source.address)
        with Receiver(place):
            peer.say(text([1]))
            assert source.join(10)
        assert "took epoch 2" in str(source.failure)
        assert "the receiver stops" in peer.hear()["error"]
        peer.close()


def test_an_address_that_is_taken_is_refused(place: Log) -> None:
    with serving(place) as source, Receiver(place, "other") as made:
        other = TcpSource(Running(made), port=source.address[1])
        with pytest.raises(StoreFailed, match=f"cannot listen at 127.0.0.1:{source.address[1]}"):
            other.start()


def test_tls_keeps_others_from_listening(place: Log, tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="cannot be used"):
        tls_context(tmp_path / "none.pem", tmp_path / "none.key")
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run(
            [*command, "-keyout", str(key), "-out", str(certificate)],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("making a certificate takes openssl")
    with serving(place, tls=tls_context(certificate, key)) as source:
        trusting = ssl.create_default_context(cafile=str(certificate))
        with (
            socket.create_connection(source.address, timeout=10) as plain,
            trusting.wrap_socket(plain, server_hostname="127.0.0.1") as peer,
        ):
            peer.sendall(Greeting(acknowledge=True).line() + text([1]))
            assert b"durable" in peer.recv(100)
            received(source, 1)
    assert numbers(place) == [0]
