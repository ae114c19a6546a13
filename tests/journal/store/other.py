"""Another process that writes to the same place: it races with the tests, and it is killed.

It takes one order per line, in JSON, and answers each with a line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.journal.store.places import Place, open_s3
from trimtab.errors import AlreadyThere
from trimtab.journal.store.base import Store
from trimtab.journal.store.hadoop import HadoopStore
from trimtab.journal.store.local import LocalStore

ROOT = Path(__file__).parents[3]


class Other:
    """The tests' end of the other process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def order(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the other process has ended"
        return line.strip()

    def kill(self) -> None:
        """Kill the process and, for Hadoop, the JVM that it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def other_process(place: Place) -> Iterator[Other]:
    command = [sys.executable, "-m", "tests.journal.store.other", json.dumps(place.told())]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    ) as process:
        other = Other(process)
        try:
            assert other.answer() == "ready"
            yield other
        finally:
            if process.poll() is None:
                other.kill()


def opened(told: dict[str, str], stack: ExitStack) -> Store:
    if told["kind"] == "s3":
        return open_s3(told["where"], told["endpoint"])
    if told["kind"] == "local":
        return LocalStore(told["where"])
    from trimtab.spark.local_session import local_session

    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    quick = "-XX:TieredStopAtLevel=1"
    session = stack.enter_context(local_session(scratch, "local[1]", quick))
    return HadoopStore(f"file:{told['where']}", session)


def obey(store: Store, name: str, text: str, start: float, die: bool) -> str:
    def hang(*_: object) -> None:
        say("about to publish")
        time.sleep(600)

    with ExitStack() as stack:
        if die:
            stack.enter_context(patch.object(LocalStore, "_publish", hang))
            stack.enter_context(patch.object(HadoopStore, "_published", hang))
        # Both processes set out at the same moment, not when the order happens to arrive.
        while time.time() < start:
            pass
        try:
            store.create(name, text.encode())
        except AlreadyThere:
            return "lost"
    return "won"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    with ExitStack() as stack:
        store = opened(json.loads(sys.argv[1]), stack)
        say("ready")
        for line in sys.stdin:
            say(obey(store, **json.loads(line)))


if __name__ == "__main__":
    main()
