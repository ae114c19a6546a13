from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calls import trimtab
from tests.receive.logs import log, numbers
from trimtab.receive import Receiver, Running
from trimtab.receive.sources.tcp import TcpSource


def test_records_are_sent_without_acknowledgements(tmp_path: Path) -> None:
    place = log(tmp_path)
    with Receiver(place) as receiver:
        source = TcpSource(Running(receiver))
        source.start()
        address = "{}:{}".format(*source.address)
        done = trimtab("send", address, "--rate", 2000, "--seconds", 0.5, "--workload", "election")
        assert "sent 1,000 records in" in done.stderr
        assert "on disk" not in done.stderr
        source.stop()
        receiver.flush()
    assert numbers(place) == list(range(1000))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "either --seconds or --records"),
        (["--seconds", 1, "--records", 1], "either --seconds or --records"),
        (["--seconds", 1, "--workload", "zpf"], "unknown workload 'zpf'; known workloads: clicks"),
        (["--seconds", 1, "--shape", "square"], "shape must be one of"),
        (["--records", 0], "--records must be"),
        (["--seconds", 1, "--rate", 0], "--rate must be"),
        (["--seconds", 1, "--trust", "no-such-file"], "is no certificate"),
        (["--seconds", 1, "--patience", 0], "no receiver answers at 127.0.0.1:1"),
    ],
)
def test_a_wrong_call_is_one_sentence(options: list[object], why: str) -> None:
    assert why in trimtab("send", "127.0.0.1:1", *options, code=2).stderr
