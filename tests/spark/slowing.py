"""A slow machine: an executor whose processes are stopped and continued in turn.

Usage: python tests/spark/slowing.py EXECUTOR_PID SHARE
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

PERIOD = 0.04
"""Seconds of one round of running and standing still: short beside every task."""

LOOK_EVERY = 10
"""Rounds after which the executor's Python processes are looked for again."""


@contextmanager
def slowed(executor: psutil.Process, share: float) -> Iterator[None]:
    """Let an executor and its Python workers run for a share of the time only."""
    command = [sys.executable, __file__, str(executor.pid), str(share)]
    slowing = subprocess.Popen(command)
    try:
        yield
    finally:
        slowing.terminate()
        slowing.wait(timeout=30)


def _tell(executor: int, groups: list[int], what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(executor, what)
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, what)


def main(executor: int, share: float) -> None:
    """Stop and continue until told to end, or until the executor is gone."""
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    groups: list[int] = []
    rounds = 0
    try:
        while not ended and psutil.pid_exists(executor):
            if rounds % LOOK_EVERY == 0:
                with suppress(psutil.Error):
                    # The daemon of the Python workers leads a group of its own.
                    children = psutil.Process(executor).children()
                    groups = [one.pid for one in children if os.getpgid(one.pid) == one.pid]
            rounds += 1
            _tell(executor, groups, signal.SIGCONT)
            time.sleep(PERIOD * share)
            _tell(executor, groups, signal.SIGSTOP)
            time.sleep(PERIOD * (1 - share))
    finally:
        _tell(executor, groups, signal.SIGCONT)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
