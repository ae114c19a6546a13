"""Records are sent to a receiver that is killed again and again; all must be in batches, once."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np

from tests.receive.crash.child import MOMENTS, ONCE
from tests.receive.logs import numbers
from trimtab.receive import Log
from trimtab.receive.drawn_records import DrawnRecords, drawn_keys
from trimtab.receive.protocol import Greeting
from trimtab.receive.sending import Sender

PROJECT = Path(__file__).parents[3]

RECORDS_PER_SLOT = 20


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def sail(
    root: Path, kills: int, seed: int, tell: Callable[[int, str], None] = lambda count, moment: None
) -> Counter[str]:
    """Kill a receiver so many times while records come; return how often at which moment.

    After every kill the older half of the batches is committed, as Spark would. At the end every
    record that was sent is in exactly one batch.
    """
    port, random = free_port(), np.random.default_rng(seed)
    sender = Sender(("127.0.0.1", port), Greeting(client="voyage", acknowledge=True))
    over, failures = threading.Event(), []

    def due() -> Iterator[int]:
        for slot in count(1):
            if over.is_set():
                return
            yield RECORDS_PER_SLOT * slot

    def send() -> None:
        try:
            sender.send(DrawnRecords(drawn_keys("zipf", 10_000, 50, 1.2, seed)), due())
        except BaseException as error:
            failures.append(error)

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    done: Counter[str] = Counter()
    seen: list[int] = []
    for kill in range(kills):
        moment = MOMENTS[kill % len(MOMENTS)]
        times = 0 if moment in ONCE else int(random.integers(0, 3))
        child = started(root, port, moment, times)
        assert child.wait(timeout=60) == -signal.SIGKILL, f"not killed at {moment!r}"
        done[moment] += 1
        tell(kill + 1, moment)
        if (root / "log" / "log.json").exists():
            seen += committed(Log.open(root / "log"))
    last = started(root, port, "", 0)
    over.set()
    sending.join(timeout=60)
    last.send_signal(signal.SIGTERM)
    assert last.wait(timeout=30) == 0
    assert not failures, failures[0]
    assert not sending.is_alive()
    found = Counter(seen + numbers(Log.open(root / "log")))
    assert found == Counter(range(sender.durable))
    return done


def started(root: Path, port: int, moment: str, times: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.receive.crash.child", str(root), str(port), moment]
    return subprocess.Popen([*command, str(times)], cwd=PROJECT)


def committed(log: Log) -> list[int]:
    """Commit the older half of the batches, and return what they hold."""
    there = range(log.oldest(), log.newest() + 1)
    half = there[: len(there) // 2]
    found = [
        row["x"]
        for batch in half
        for block in log.manifest(batch).blocks
        for row in log.read_block(batch, block).to_pylist()
    ]
    if half:
        log.commit(half[-1], seconds=0.01)
    return found
