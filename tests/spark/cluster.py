"""A standalone Spark cluster in processes of its own: one master, three workers, loopback only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


class Cluster:
    """Processes of a running cluster; `url` is what a driver connects to."""

    def __init__(self, url: str, processes: list[subprocess.Popen[bytes]]) -> None:
        self.url = url
        self.processes = processes

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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_cluster(scratch: Path) -> Iterator[Cluster]:
    """Start the cluster, wait until all workers are known to the master, stop it at the end."""
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

    try:
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        for host in HOSTS:
            words = ("--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g")
            start("worker.Worker", *words, url)
        deadline = time.monotonic() + 120
        while log.read_bytes().count(b"Successfully registered with master") < len(HOSTS):
            if time.monotonic() > deadline or any(p.poll() is not None for p in started):
                raise RuntimeError(f"the cluster did not start:\n{log.read_text()[-4000:]}")
            time.sleep(0.2)
        yield Cluster(url, started)
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
