"""Records the texts of columns and plans of one version of Spark, for tests/spark/test_spark_text.

Run it with the Python of an environment that has this version of pyspark, what Spark Connect
needs, numpy, pandas and pyarrow; it writes tests/spark/spark_texts/<version>.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.spark.spark_texts import cases

MODES = ("classic", "connect")


def texts(mode: str) -> dict[str, Any]:
    """Ask a Spark of this mode."""
    start = SparkSession.builder.master if mode == "classic" else SparkSession.builder.remote
    spark = (
        start("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    try:
        return cases.record(spark)
    finally:
        spark.stop()


def main() -> None:
    """Ask both, each in a process of its own as Spark demands, and write the file."""
    found = {}
    for mode in MODES:
        command = [sys.executable, __file__, mode]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        found[mode] = json.loads(said)
    file = cases.FOLDER / f"{pyspark.__version__}.json"
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {file.name}")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(texts(sys.argv[1])))
    else:
        main()
