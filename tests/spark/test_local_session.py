from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_session_that_is_there_is_used_and_left_running(
    spark: SparkSession, tmp_path: Path
) -> None:
    from trimtab.spark.local_session import local_session

    with local_session(tmp_path) as found:
        assert found is spark
    assert spark.range(3).count() == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_a_session_that_made_a_frame_does_not_take_its_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    from trimtab.spark.local_session import local_session

    spark.newSession().createDataFrame([(1,)], "x int")
    with local_session(tmp_path) as found:
        assert found is spark


def test_without_java_there_is_a_sentence(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from trimtab.spark.local_session import SparkDidNotStart, local_session\n"
        "try:\n"
        "    with local_session(Path(sys.argv[1])): pass\n"
        "except SparkDidNotStart as error: print(error)\n"
    )
    # A Java home without a Java, and no other on the path; Spark's own script still needs a shell.
    environment = {**os.environ, "JAVA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith("Spark did not start; it needs Java 17 or 21")
    assert done.stderr == ""
