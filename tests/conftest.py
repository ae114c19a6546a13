"""What all tests share: one hypothesis profile and one lazy Spark session."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRUGAL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Many small queries on few cores: a compiler that is quick rather than good, and a collector
without threads of its own, save a tenth of the time. That compiler gets 48 MB for its code unless
told otherwise, which a hundred batches fill; Java then dies."""

CONNECT = os.environ.get("TRIMTAB_SPARK_MODE", "classic") == "connect"

END = float(os.environ.get("TRIMTAB_TESTS_END", "inf"))
"""The time, in seconds since 1970, from which on no test begins any more."""

settings.register_profile(
    "trimtab",
    derandomize=True,  # the same examples on every machine: a red build is red everywhere
    deadline=None,  # the first call of a kernel compiles it, which takes seconds
    max_examples=50,
    database=None,  # derandomised runs have nothing to remember
    suppress_health_check=[HealthCheck.too_slow],  # for the same reason as the deadline
)
settings.load_profile("trimtab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("spark"):
            raise pytest.UsageError(f"{item.nodeid} starts Spark: mark it with pytest.mark.spark")


def pytest_runtest_setup() -> None:
    if time.time() >= END:
        pytest.skip("the time for tests was over (TRIMTAB_TESTS_END)")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return the one Spark session of this run; it starts when the first test asks for it."""
    # Python workers must be the interpreter that runs the tests, not whatever `python3` is.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # A Connect server has a process of its own, whose workers must find functions of the tests.
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))

    from pyspark.sql import SparkSession

    scratch = tmp_path_factory.mktemp("spark")
    # Classic and Connect cannot live in one process: TRIMTAB_SPARK_MODE chooses one for this run.
    # Two tasks at once: enough to be parallel.
    start = SparkSession.builder.remote if CONNECT else SparkSession.builder.master
    builder = (
        start("local[2]")
        .appName("trimtab-tests")
        # No web server: nothing to look at, and ports may be taken.
        .config("spark.ui.enabled", "false")
        # A progress bar would be mixed into pytest's output.
        .config("spark.ui.showConsoleProgress", "false")
        # Spark's default of 200 tiny tasks per shuffle would be most of the run time.
        .config("spark.sql.shuffle.partitions", "4")
        # Machines whose own host name does not resolve still have a loopback address.
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        # Shuffle files, tables and the metastore go to a directory of this run alone.
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        # Where Spark would keep a metastore.
        .config(
            "spark.driver.extraJavaOptions",
            f"{FRUGAL_JAVA} -Dderby.system.home={scratch / 'derby'}",
        )
        # Timestamps must not depend on where the tests run.
        .config("spark.sql.session.timeZone", "UTC")
        # The tests' data are small; leave memory to whatever else the machine does.
        .config("spark.driver.memory", "1g")
    )
    with warnings.catch_warnings():
        # The Connect server takes its settings as it starts; the client then finds it can not
        # change those that are static.
        warnings.filterwarnings("ignore", "Failed to set", UserWarning)
        session = builder.getOrCreate()
    if not CONNECT:
        session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
