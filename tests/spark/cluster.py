"""A standalone Spark cluster in processes of its own: one master, three workers, loopback only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


class Cluster:
    """Processes of a running cluster; `url` is what a driver connects to."""

    def __init__(
        self, url: str, processes: list[subprocess.Popen[bytes]], add: Callable[[str], None]
    ) -> None:
        self.url = url
        self.processes = processes
        self.add_worker = add
        """Start one more worker at an address, and wait until the master knows it."""

    def executors(self) -> list[psutil.Process]:
        """Return the executors that run now, on all workers."""
        found = []
        for process in self.processes:
            for child in psutil.Process(process.pid).children(recursive=True):
                try:
                    words = child.cmdline()
                except psutil.Error:
                    continue
                if any("CoarseGrainedExecutorBackend" in word for word in words):
                    found.append(child)
        return found

    def executor_at(self, address: str) -> psutil.Process:
        """Return the executor at an address; it must be the only one there."""
        (found,) = [one for one in self.executors() if address in one.cmdline()]
        return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_cluster(scratch: Path, cores: int = 1) -> Iterator[Cluster]:
    """Start the cluster, wait until all workers are known to the master, stop it at the end.

    Every worker lets `cores` tasks run at once, however many processors there are.
    """
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(scratch / "local"),
        "SPARK_WORKER_DIR": str(scratch / "work"),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []
    log = scratch / "cluster.log"

    def start(role: str, *words: str) -> None:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *words]
        with log.open("ab") as out:
            started.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out))

    def start_worker(host: str) -> None:
        words = ("--host", host, "--webui-port", "0", "--cores", str(cores), "--memory", "1g")
        start("worker.Worker", *words, url)

    def wait_for_workers() -> None:
        known = len(started) - 1
        deadline = time.monotonic() + 120
        while log.read_bytes().count(b"Successfully registered with master") < known:
            ended = any(p.poll() is not None for p in (started[0], started[-1]))
            if time.monotonic() > deadline or ended:
                raise RuntimeError(f"the cluster did not start:\n{log.read_text()[-4000:]}")
            time.sleep(0.2)

    def add_worker(host: str) -> None:
        start_worker(host)
        wait_for_workers()

    try:
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        for host in HOSTS:
            start_worker(host)
        wait_for_workers()
        yield Cluster(url, started, add_worker)
    finally:
        family = [psutil.Process(p.pid) for p in started if p.poll() is None]
        family += [child for parent in family for child in parent.children(recursive=True)]
        for process in reversed(family):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        for daemon in started:
            daemon.wait(timeout=30)
