"""A receiver that kills itself: takes records over TCP and dies when it has come to a moment.

    python -m tests.receive.crash.child <directory> <port> <moment> <how often before>

Without a moment ("") it runs until it is asked to end.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from tests.receive.logs import SCHEMA
from trimtab.journal import moments
from trimtab.receive import Log, Receiver, Running
from trimtab.receive import arrivals as arrivals_module
from trimtab.receive import log as log_module
from trimtab.receive.sources.tcp import TcpSource

MOMENTS = (
    "epoch taken",
    "half a group",
    "arrivals written",
    "frozen",
    "planned",
    "block written",
    "blocks written",
    "manifest written",
    "arrivals removed",
    "batches forgotten",
)
"""Moments of the receiver, and three that this module tells of itself."""

ONCE = ("epoch taken", "batches forgotten")
"""Moments that a process may come to only once."""


def main(root: Path, port: int, moment: str, times: int) -> None:
    left = times

    def at(reached: str, batch: int) -> None:
        nonlocal left
        if reached == moment:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    moments.at = at
    write, forget = arrivals_module._write_all, Log.forget_committed
    write_table = log_module._write_table

    def half(file: int, data: bytes) -> None:
        if moment == "half a group":
            write(file, data[: len(data) // 2])
            at("half a group", 0)
            write(file, data[len(data) // 2 :])
        else:
            write(file, data)

    def forgetting(log: Log) -> list[int]:
        found = forget(log)
        at("batches forgotten", 0)
        return found

    def one_block(path: Path, table: object) -> tuple[int, int]:
        facts = write_table(path, table)
        at("block written", 0)
        return facts

    arrivals_module._write_all = half
    Log.forget_committed = forgetting  # type: ignore[method-assign]
    log_module._write_table = one_block

    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    place = Log.create(root / "log", schema=SCHEMA, key="k", blocks=4, interval=0.05)
    with Receiver(place) as receiver:
        running = Running(receiver, waiting=1000)
        source = TcpSource(running, port=port)
        running.start()
        source.start()
        over.wait()
        source.stop()
        running.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
