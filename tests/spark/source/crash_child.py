"""A receiver and two queries on what it receives, in one process that is killed.

    python -m tests.spark.source.crash_child <directory> '{"windows": ["plan written", 1], ...}'

Every query has a log of its own, and a receiver in this process that takes records into it without
end. When all queries are at their points, this process and its Java process get SIGKILL, wherever
the receivers are.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from tests.receive.written_logs import SCHEMA, rows_of
from tests.spark.stream.crash.killer import Killer, Points, java_process, watch_ends
from tests.spark.stream.crash.queries import session
from trimtab.receive import Log, Receiver
from trimtab.spark import received, stream

QUERIES = ("windows", "apply")
ROWS = 60
"""Rows of one offer."""


def offers(root: Path, name: str) -> Path:
    """Return the file with the numbers of all offers: begun, and taken."""
    return root / f"offers-{name}"


def note(root: Path, name: str, word: str, number: int) -> None:
    with open(offers(root, name), "a", encoding="utf-8") as file:
        file.write(f"{word} {number}\n")
        file.flush()
        os.fsync(file.fileno())


def noted(root: Path, name: str, word: str) -> set[int]:
    lines = offers(root, name).read_text().split("\n") if offers(root, name).exists() else []
    return {int(line.split()[1]) for line in lines if line.startswith(word)}


def opened(root: Path, name: str) -> Receiver:
    place = root / "logs" / name
    return Receiver(Log.create(place, schema=SCHEMA, key="k", blocks=3))


def values(number: int) -> Iterator[int]:
    """Return the values of an offer; no other offer has them."""
    yield from rows_of(number, ROWS)["x"].to_pylist()


def feed(root: Path, name: str) -> None:
    """Offer records for ever, a batch of the log each; what is committed is forgotten."""
    receiver = opened(root, name)
    number = max(noted(root, name, "begun"), default=-1) + 1
    while True:
        note(root, name, "begun", number)
        receiver.offer(rows_of(number, ROWS))
        note(root, name, "taken", number)
        receiver.flush()
        receiver.log.forget_committed()
        number += 1
        time.sleep(0.3)


def same(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[["k", "x"]]


def started(spark: SparkSession, root: Path, name: str, trigger: dict[str, Any]) -> Any:
    """Start a query, or start it again where it was stopped."""
    frame = received(spark, root / "logs" / name)
    begun = stream(frame, "k", 2, checkpoint=str(root / "ck" / name))
    out = str(root / "out" / name)
    if name == "apply":
        made = begun.apply(same, "k string, x long")
    else:
        made = begun.aggregate(
            time="ts", window="5 seconds", watermark="0 seconds", xs="collect_list(x)"
        )
    return made.start(out, trigger=trigger, name=name)


def main(root: Path, points: Points) -> None:
    spark = session(root)
    killer = Killer(root, points, java_process(spark))
    killer.install()
    for name in points:
        opened(root, name).close()
    queries = [started(spark, root, name, {"processingTime": "0 seconds"}) for name in points]
    for name in points:
        threading.Thread(target=feed, args=(root, name), daemon=True).start()
    watch_ends(killer, queries)
    killer.kill_when_all_are_there()


if __name__ == "__main__":
    wanted: Points = {name: (at, batch) for name, (at, batch) in json.loads(sys.argv[2]).items()}
    main(Path(sys.argv[1]), wanted)
