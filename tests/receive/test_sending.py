from __future__ import annotations

import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.receive.logs import eventually, log, numbers
from trimtab.errors import InvalidArgument, StoreFailed
from trimtab.receive import Receiver, Running
from trimtab.receive.drawn_records import DrawnRecords
from trimtab.receive.protocol import Greeting
from trimtab.receive.sending import Sender
from trimtab.receive.sources.tcp import TcpSource

RECORDS = DrawnRecords(np.arange(10))
NAMED = Greeting(client="ann", acknowledge=True)


def test_a_sender_goes_on_when_the_receiver_comes_back(tmp_path: Path) -> None:
    """The receiver goes away twice: once between groups, once without having answered."""
    place = log(tmp_path)
    port = 0
    sender = Sender(("127.0.0.1", 0), NAMED, patience=20)
    failures: list[BaseException] = []

    def send() -> None:
        try:
            sender.send(RECORDS, range(100, 3001, 100))
        except BaseException as error:
            failures.append(error)

    sending = threading.Thread(target=send)
    for stop_at in (500, 1500, 3000):
        with Receiver(place) as receiver:
            source = TcpSource(Running(receiver), port=port)
            source.start()
            port = source.address[1]
            if not sending.ident:
                sender.address = source.address
                sending.start()
            eventually(lambda at=stop_at: sender.durable >= at or bool(failures), 20)
            source.stop()
            receiver.flush()
    sending.join(20)
    assert not failures
    assert sender.reconnects == 2
    assert numbers(place) == list(range(3000))


def test_without_acknowledgements_a_lost_connection_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.sendall(b'{"error": "no room"}\n')
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1000):
                pass
            connection.close()

        threading.Thread(target=hang_up).start()
        sender = Sender(server.getsockname(), Greeting(), patience=5)
        with pytest.raises(StoreFailed, match=r"was lost after \d+ records: .*no room"):
            sender.send(RECORDS, range(100, 500, 100))


def test_who_is_no_receiver_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="need the name of a client"):
        Sender(("127.0.0.1", 1), Greeting(acknowledge=True))
    with pytest.raises(StoreFailed, match=r"no receiver answers at 127\.0\.0\.1:1"):
        Sender(("127.0.0.1", 1), Greeting(), patience=0).send(RECORDS, [1])
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            connection, _ = server.accept()
            connection.sendall(b"SSH-2.0\n")
            connection.recv(100)
            connection.close()

        threading.Thread(target=speak).start()
        with pytest.raises(InvalidArgument, match="this is no receiver"):
            Sender(server.getsockname(), NAMED, patience=5).send(RECORDS, [1])
