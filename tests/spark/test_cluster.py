"""A real cluster in separate processes: rows land where they should, whoever is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.spark import cluster_job
from tests.spark.cluster import running_cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    scratch = tmp_path_factory.mktemp("cluster")
    with running_cluster(scratch) as cluster:
        command = [sys.executable, "-m", "tests.spark.cluster_job", cluster.url, str(scratch)]
        with (scratch / "driver.log").open("wb") as log:
            driver = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            killed = kill_one_executor(cluster, driver, scratch / "running")
            code = driver.wait(timeout=240)
        finally:
            driver.kill()
            driver.wait()
        assert code == 0, (scratch / "driver.log").read_text()[-4000:]
    found = json.loads((scratch / "results.json").read_text())
    tasks = [path.name.split("-") for path in (scratch / "running").iterdir()]
    return {**found, "killed": killed, "tasks": tasks}


def kill_one_executor(cluster: Any, driver: subprocess.Popen[bytes], markers: Path) -> int:
    """Kill, with SIGKILL, an executor while tasks behind the shuffle are running."""
    deadline = time.monotonic() + 180
    while not (markers.exists() and any(markers.iterdir())):
        assert driver.poll() is None, "the driver ended before its tasks were seen"
        assert time.monotonic() < deadline, "no task has started"
        time.sleep(0.05)
    # The one that runs a marked task, which sleeps for longer than this takes.
    worker = psutil.Process(int(next(markers.iterdir()).name.split("-")[2]))
    ancestors = {parent.pid for parent in worker.parents()}
    (victim,) = [found for found in cluster.executors() if found.pid in ancestors]
    victim.kill()
    return int(victim.pid)


def test_rows_land_where_the_plan_says(results: dict[str, Any]) -> None:
    assert results["landing"] == {
        "rows": True,
        "light rows where the plan says": True,
        "lanes of the hot key": [1, 3, 4],
    }


def test_an_executor_killed_in_mid_job_changes_nothing(results: dict[str, Any]) -> None:
    assert results["killed"] > 0
    for name in ("trim", "pkg"):
        assert results["kill"][name] == {"rows": cluster_job.ROWS, "each once": True}
    assert results["kill"]["counts"] == {"hot": cluster_job.ROWS // 2, "keys": 302}


def test_tasks_really_ran_again(results: dict[str, Any]) -> None:
    attempts = [int(attempt) for _, attempt, _ in results["tasks"]]
    # A stage that runs again counts its attempts from 0, and leaves one more mark instead.
    assert max(attempts) > 0 or len(attempts) > 2 * cluster_job.LANES
