"""What is due by the clock does not wait for rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.state import GroupState

from tests.spark.stream.inputs import NOW, read_stream, write_files
from trimtab.spark import Batch, Stream, events, stream

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def quiet(
    key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame({"user": key})
    else:
        state.update((1,))
        state.setTimeoutDuration(1)


def test_keys_time_out_although_no_rows_come(begin: Any) -> None:
    origin: Stream = begin(lanes=2)
    due: dict[int, int] = {}

    def keep(rows: Any, batch: Batch) -> None:
        due[batch.id] = rows.count()

    calls = origin.apply_with_state(quiet, "user string", "n int", timeout="ProcessingTimeTimeout")
    query = calls.start(function=keep, trigger={"processingTime": "0 seconds"})
    try:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and not (len(due) > 4 and due[max(due)] == 0):
            assert query.isActive, query.exception()
            time.sleep(0.2)
    finally:
        query.stop()
    line = origin.progress()
    assert line is not None
    assert line["state"]["keys"] == 0
    assert sum(due.values()) > 0
    # The four batches with rows, and those in which only the clock went on.
    assert max(due) >= 4


def long_quiet(
    key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame({"user": key})
    else:
        state.update((1,))
        state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 1)


@pytest.mark.exhaustive
def test_a_query_that_ends_looks_once_more_whatever_triggered_it_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Every key times out when the watermark moves, so that after each run no state is left."""

    def started(files: int, trigger: dict[str, Any]) -> Any:
        write_files(tmp_path / "in", files)
        timed = read_stream(spark, tmp_path / "in").where("ts is not null")
        origin = stream(
            timed.withWatermark("ts", "1 second"), "user", 2, checkpoint=str(tmp_path / "ck")
        )
        calls = origin.apply_with_state(
            long_quiet, "user string", "n int", timeout="EventTimeTimeout"
        )
        return calls.start(function=lambda rows, batch: rows.count(), trigger=trigger)

    def rows() -> list[int]:
        return [line["rows"] for line in events(str(tmp_path / "ck"))]

    started(2, NOW).awaitTermination()
    assert [count > 0 for count in rows()] == [True, True, False]
    assert events(str(tmp_path / "ck"))[-1]["state"]["keys"] == 0
    query = started(3, {"processingTime": "0 seconds"})
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and len(rows()) < 6:
        assert query.isActive, query.exception()
        time.sleep(0.1)
    query.stop()
    before = len(rows())
    started(4, NOW).awaitTermination()
    # A batch without rows may have been under way when the query was stopped: it runs again.
    *again, last, look = rows()[before:]
    assert (last > 0, look, sum(again)) == (True, 0, 0)
    assert events(str(tmp_path / "ck"))[-1]["state"]["keys"] == 0
    # Nothing new: what became due by the clock alone is looked for once.
    before = len(rows())
    started(4, NOW).awaitTermination()
    assert rows()[before:] == [0]
