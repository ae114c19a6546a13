"""Makes tests/data/golden_xxhash64.json again, with the hashes of a real Spark session.

Run it as `.venv/bin/python scripts/make_golden.py` after adding cases to tests/golden_keys.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import golden_keys


def main() -> None:
    """Ask Spark and write the file."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    try:
        vectors = golden_keys.produce(spark)
    finally:
        spark.stop()
    golden_keys.GOLDEN.write_text(golden_keys.to_json(vectors), encoding="ascii")
    rows = sum(len(vector["hashes"]) for vector in vectors)
    print(f"wrote {len(vectors)} cases with {rows} keys to {golden_keys.GOLDEN.name}")


if __name__ == "__main__":
    main()
