"""What the tests of shipping run as a process of its own: a cluster whose workers lack Trimtab.

Usage: shipping_job.py SCRATCH_DIRECTORY [PACKED_ENVIRONMENT]; results go to results.json there.
With an environment that venv-pack has packed, spark-submit and Spark Connect are tried, too: that
takes two minutes more.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import pandas as pd
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import trimtab
import trimtab.spark as tt
from tests.spark.cluster import Cluster, free_port, running_cluster

PACKAGE = Path(trimtab.__file__).parent
SPARK_HOME = Path(pyspark.__file__).parent

BARE = """
import pathlib, sys
sys.path[:] = [
    path
    for path in sys.path
    if "environment" in pathlib.Path(path).parts or not pathlib.Path(path, "trimtab").is_dir()
]
"""
"""Makes a Python process one where Trimtab was never installed, except in what it is sent."""

SUBMITTED = """
import json, sys
import pandas as pd
import trimtab.spark as tt
from pyspark.sql import SparkSession

def sizes(rows):
    return pd.DataFrame({"key": rows["key"].iloc[:1], "rows": [len(rows)]})

spark = SparkSession.builder.getOrCreate()
grouped = tt.group_by(spark.range(0, 60, 1, 2).selectExpr("id % 5 AS key"), "key", lanes=2)
found = grouped.applyInPandas(sizes, "key long, rows long").collect()
with open(sys.argv[1], "w") as out:
    json.dump([tuple(row) for row in found], out)
spark.stop()
"""
"""An application that is started with spark-submit."""


def settings(scratch: Path, python_path: str) -> dict[str, str]:
    """Return what all sessions have in common; Python on workers has this path, and no other."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        # One sentence is enough: a task that has failed for want of a package fails again.
        "spark.task.maxFailures": "1",
        "spark.executorEnv.PYTHONPATH": python_path,
        "spark.local.dir": str(scratch / "driver"),
        "spark.sql.shuffle.partitions": "2",
    }


def sizes(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"key": rows["key"].iloc[:1], "rows": [len(rows)]})


def counted(spark: SparkSession) -> Any:
    """Return the rows of each key, counted by a function of groups; or what the failure says."""
    frame = spark.range(0, 60, 1, 2).selectExpr("id % 5 AS key")
    grouped = tt.group_by(frame, "key", lanes=2, partitioner="hash")
    try:
        rows = grouped.applyInPandas(sizes, "key long, rows long").collect()
    except PySparkException as error:
        return str(error)
    return sorted(tuple(row) for row in rows)


def zipped(scratch: Path) -> str:
    """Return an archive of the package alone, as the guide makes it."""
    return shutil.make_archive(
        str(scratch / "trimtab"), "zip", root_dir=PACKAGE.parent, base_dir="trimtab"
    )


def packed(scratch: Path) -> str:
    """Return a packed environment with Trimtab in it.

    Its libraries are those of this Python, by a path: half a gigabyte would take a minute to pack.
    """
    place = scratch / "environment"
    venv.create(place, symlinks=True)
    (libraries,) = place.glob("lib/python*/site-packages")
    shutil.copytree(PACKAGE, libraries / "trimtab", ignore=shutil.ignore_patterns("__pycache__"))
    (libraries / "others.pth").write_text(str(Path(numpy.__file__).parents[1]) + "\n")
    archive = scratch / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as out:
        out.add(place, arcname=".")
    return str(archive)


def by_zip(cluster: Cluster, scratch: Path, bare: str) -> dict[str, Any]:
    """Run where workers lack Trimtab, then send it to them while the session runs."""
    spark = classic(cluster, settings(scratch, bare))
    said = counted(spark)
    spark.sparkContext.addPyFile(zipped(scratch))
    sent = counted(spark)
    spark.stop()
    return {"said": said, "sent": sent}


def by_environment(cluster: Cluster, scratch: Path, archive: str) -> dict[str, Any]:
    """Give executors an environment of their own."""
    before = os.environ["PYSPARK_PYTHON"]
    os.environ["PYSPARK_PYTHON"] = "./environment/bin/python"
    try:
        ours = {"spark.archives": f"{archive}#environment"}
        spark = classic(cluster, {**settings(scratch, ""), **ours})
        where = spark.range(0, 1, 1, 1).mapInPandas(_python, "python string").collect()[0][0]
        found = {"sent": counted(spark), "python": where}
        spark.stop()
    finally:
        os.environ["PYSPARK_PYTHON"] = before
    return found


def _python(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    import sys

    for _ in frames:
        yield pd.DataFrame({"python": [sys.executable]})


def by_submit(cluster: Cluster, scratch: Path, bare: str) -> dict[str, Any]:
    """Start an application with --py-files."""
    application, out = scratch / "application.py", scratch / "submitted.json"
    application.write_text(SUBMITTED)
    words = [
        word for pair in settings(scratch, bare).items() for word in ("--conf", "=".join(pair))
    ]
    command = [
        *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.url, *words),
        *("--py-files", zipped(scratch), str(application), str(out)),
    ]
    # The driver, too, has Trimtab from the archive alone.
    environment = {**os.environ, "PYTHONPATH": bare}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        return {"sent": ran.stderr[-2000:]}
    return {"sent": sorted(tuple(row) for row in json.loads(out.read_text()))}


def by_artifacts(cluster: Cluster, scratch: Path, bare: str, archive: str) -> dict[str, Any]:
    """Send the package, then in a session of its own an environment, through Spark Connect."""
    with connect_server(cluster, scratch, bare) as url:
        spark = SparkSession.builder.remote(url).create()
        said = counted(spark)
        spark.addArtifacts(zipped(scratch), pyfile=True)
        sent = counted(spark)
        spark.stop()
        spark = SparkSession.builder.remote(url).create()
        spark.addArtifacts(f"{archive}#environment", archive=True)
        spark.conf.set("spark.sql.execution.pyspark.python", "environment/bin/python")
        environment = counted(spark)
        spark.stop()
    return {"said": said, "sent": sent, "environment": environment}


def classic(cluster: Cluster, given: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(cluster.url)
    for name, value in given.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def connect_server(cluster: Cluster, scratch: Path, bare: str) -> Iterator[str]:
    """Start a Spark Connect server whose executors are those of the cluster."""
    port = free_port()
    given = {**settings(scratch, bare), "spark.connect.grpc.binding.port": str(port)}
    words = [word for pair in given.items() for word in ("--conf", "=".join(pair))]
    command = [
        *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.url, *words),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
    ]
    log = scratch / "connect.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + 60
        while b"Spark Connect server started" not in log.read_bytes():
            if time.monotonic() > deadline or server.poll() is not None:
                raise RuntimeError(f"Spark Connect did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def main(scratch: Path, environment: str | None = None) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    bare = scratch / "bare"
    bare.mkdir(parents=True)
    (bare / "sitecustomize.py").write_text(BARE)
    archive = packed(scratch) if environment is None else environment
    found: dict[str, Any] = {}
    ways: dict[str, Callable[[Cluster], dict[str, Any]]] = {
        "zip": lambda cluster: by_zip(cluster, scratch, str(bare)),
        "environment": lambda cluster: by_environment(cluster, scratch, archive),
    }
    if environment is not None:
        ways["submit"] = lambda cluster: by_submit(cluster, scratch, str(bare))
        ways["artifacts"] = lambda cluster: by_artifacts(cluster, scratch, str(bare), archive)
    with running_cluster(scratch) as cluster:
        for name, way in ways.items():
            started = time.monotonic()
            found[name] = way(cluster)
            found[name]["seconds"] = round(time.monotonic() - started, 1)
    (scratch / "results.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
