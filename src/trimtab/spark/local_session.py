"""A quiet Spark inside this process, for the command line and the demo."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trimtab.errors import TrimtabError

_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class SparkDidNotStart(TrimtabError, RuntimeError):
    """There is no Java, or not one that Spark runs on."""


@contextmanager
def local_session(
    scratch: Path, master: str = "local[*]", java_options: str = "", **settings: Any
) -> Iterator[SparkSession]:
    """Start Spark, and stop it at the end; all that it says goes to `spark.log` in `scratch`.

    A session that is already there is used and left running.

    Parameters
    ----------
    scratch
        A directory for Spark's files, removed by the caller.
    master
        Where Spark runs; `local[16]` has 16 task slots whatever the number of cores.
    java_options
        Options of the Java machine. `-XX:TieredStopAtLevel=1` compiles quickly instead of well,
        which suits jobs of a minute or two on few cores.
    settings
        More settings, dots written as two underscores: `spark__sql__shuffle__partitions=16`.
    """
    if SparkSession.getActiveSession() is not None:
        # Not the active session itself: whoever made a frame last has made its session active, and
        # in a batch of a stream that is a copy, without the views of the session we want.
        yield SparkSession.builder.getOrCreate()
        return
    session = _started(scratch, master, java_options, settings)
    try:
        yield session
    finally:
        session.stop()


def _started(
    scratch: Path, master: str, java_options: str, settings: dict[str, Any]
) -> SparkSession:
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING, encoding="utf-8")
    # Python workers must be this interpreter, not whatever `python3` is.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    chosen = {
        "spark.app.name": "trimtab",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Machines whose own host name does not resolve still have a loopback address.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={logging} -Dderby.system.home={scratch / 'derby'} "
            f"{java_options}".strip()
        ),
        **{name.replace("__", "."): str(value) for name, value in settings.items()},
    }
    builder = SparkSession.builder.master(master)
    for name, value in chosen.items():
        builder = builder.config(name, value)
    log = scratch / "spark.log"
    try:
        with _stderr_to(log):
            return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise SparkDidNotStart(
            "Spark did not start; it needs Java 17 or 21 on the PATH or in JAVA_HOME; it said: "
            f"{said[-1] if said else error}"
        ) from error


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Send stderr to a file for processes started meanwhile: the JVM keeps it for its life."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(path, "ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
