"""A driver that kills itself: runs several queries and dies once each has reached its point.

    python -m tests.spark.stream.crash.child <directory> '{"tumbling": ["plan written", 1], ...}'
    python -m tests.spark.stream.crash.child <directory> '{"tumbling": ["", 0], ...}' <seconds>

Every query stops at the point and batch it is given, and waits there; when all have arrived, this
process and its Java process get SIGKILL. What was reached is in the file `reached`, one line per
query and point. With seconds, all are killed so long after the last query was started, wherever
they are.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from pyspark.sql import functions as F

from tests.spark.stream.crash.killer import Killer, Points, java_process, watch_ends
from tests.spark.stream.crash.queries import merge_early, session, started


def main(root: Path, points: Points, seconds: float | None = None) -> None:
    merge_early(setattr)
    spark = session(root)
    killer = Killer(root, points, java_process(spark))
    killer.install()
    queries = [started(spark, root, name) for name in points]
    if seconds is not None:
        threading.Timer(seconds, killer.kill).start()
    watch_ends(killer, queries)
    killer.kill_when_all_are_there()


if __name__ == "__main__":
    F.lit  # noqa: B018 - the functions of Spark are loaded before threads ask for them
    wanted: Points = {name: (at, batch) for name, (at, batch) in json.loads(sys.argv[2]).items()}
    main(Path(sys.argv[1]), wanted, float(sys.argv[3]) if len(sys.argv) > 3 else None)
