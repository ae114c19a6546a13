"""Receiver and Spark killed together, again and again: every record that was taken counts once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.source.crash_child import QUERIES, noted, opened, started, values

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROUNDS = [
    {"windows": ("panes written", 1), "apply": ("sink done", 1)},
    {"windows": ("state written", 3), "apply": ("plan written", 3)},
    {"windows": ("batch started", 5), "apply": ("batch logged", 5)},
]

STORIES = [
    # Each of the two is killed by itself in tests that are not exhaustive.
    pytest.param(ROUNDS[:1], id="killed once", marks=pytest.mark.exhaustive),
    pytest.param(ROUNDS, id="killed three times", marks=pytest.mark.exhaustive),
]


def run_until_killed(root: Path, points: dict[str, tuple[str, int]]) -> None:
    command = [sys.executable, "-m", "tests.spark.source.crash_child", str(root)]
    with open(root / "child.log", "a", encoding="utf-8") as log:
        done = subprocess.run(
            [*command, json.dumps(points)],
            cwd=Path(__file__).parents[3],
            stdout=log,
            stderr=log,
            timeout=300,
        )
    assert done.returncode == -signal.SIGKILL, (root / "child.log").read_text()[-3000:]


@pytest.mark.parametrize("rounds", STORIES)
def test_every_record_that_was_taken_is_in_the_results_once(
    rounds: list[dict[str, tuple[str, int]]], spark: SparkSession, tmp_path: Path
) -> None:
    for points in rounds:
        run_until_killed(tmp_path, points)
    for name in QUERIES:
        with opened(tmp_path, name) as receiver:
            receiver.flush()
            # A row far in the future closes all windows.
            receiver.offer([{"k": "end", "x": -1, "ts": 4_000_000_000_000_000}])
            receiver.flush()
        started(spark, tmp_path, name, {"availableNow": True}).awaitTermination()
        frame = spark.read.parquet(str(tmp_path / "out" / name))
        if name == "windows":
            frame = frame.selectExpr("explode(xs) AS x")
        found = sorted(row["x"] for row in frame.where("x >= 0").select("x").collect())
        assert len(found) == len(set(found)), f"{name}: some records count twice"
        taken = {x for number in noted(tmp_path, name, "taken") for x in values(number)}
        begun = {x for number in noted(tmp_path, name, "begun") for x in values(number)}
        assert taken <= set(found) <= begun, f"{name}: {len(taken - set(found))} records are lost"
