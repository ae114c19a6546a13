"""A driver that runs its queries to their end while its Python workers or executors are killed.

    python -m tests.chaos.last_leg <directory> '{"queries": [...], "victim": "workers", ...}'

It leaves `found.json` in the directory: how often it killed, what readers find of the results,
and what the event logs say.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from tests.chaos.schedule import EXECUTORS, WORKERS
from tests.spark.stream.crash.killer import java_process
from tests.spark.stream.crash.queries import facts, results, session, started

PATIENT = {
    # Tasks are tried again as often as they are killed: nobody counts how often that is.
    "spark.task.maxFailures": "100",
    "spark.stage.maxConsecutiveAttempts": "100",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.executor.memory": "700m",
    # Nobody answers for a dead executor: do not ask it three times, five seconds apart.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.python.worker.faulthandler.enabled": "false",
}

MASTERS = {WORKERS: "local[2,100]", EXECUTORS: "local-cluster[2,1,700]"}


class Disturber:
    """Kills processes below the Java process, one after the other, while the queries run."""

    def __init__(self, java: int, victim: str, kills: int, seconds: float, seed: int) -> None:
        self.java = psutil.Process(java)
        self.victim, self.kills, self.seconds = victim, kills, seconds
        self.rng = np.random.default_rng(seed)
        self.killed = 0
        self.over = threading.Event()

    def run(self) -> None:
        while self.killed < self.kills and not self.over.is_set():
            # Of two executors one stays, so that a job can go on while another one starts.
            found = self.victims()
            if len(found) < (2 if self.victim == EXECUTORS else 1):
                time.sleep(0.05)
                continue
            try:
                found[self.rng.integers(len(found))].kill()
                self.killed += 1
            except psutil.NoSuchProcess:
                continue
            self.over.wait(self.seconds * self.rng.uniform(0.5, 1.5))

    def victims(self) -> list[psutil.Process]:
        word = "CoarseGrainedExecutorBackend" if self.victim == EXECUTORS else "pyspark.daemon"
        found = []
        for child in self.java.children(recursive=True):
            try:
                if any(word in part for part in child.cmdline()):
                    found.append(child)
            except psutil.Error:
                continue
        return found


def main(root: Path, order: dict[str, Any]) -> None:
    victim = order["victim"]
    master = "local[2]" if victim is None else MASTERS[victim]
    more = {"spark.executorEnv.PYTHONPATH": ":".join(sys.path)}
    spark = session(root, master, {**more, **PATIENT})
    running = [started(spark, root, name) for name in order["queries"]]
    disturber = None
    if victim is not None:
        disturber = Disturber(
            java_process(spark), victim, order["kills"], order["seconds"], order["seed"]
        )
        threading.Thread(target=disturber.run, daemon=True).start()
    for query in running:
        query.awaitTermination()
    if disturber is not None:
        disturber.over.set()
    found = {
        name: {"results": results(spark, root, name), "facts": facts(root, name)}
        for name in order["queries"]
    }
    kills = 0 if disturber is None else disturber.killed
    (root / "found.json").write_text(json.dumps({"kills": kills, "found": found}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
