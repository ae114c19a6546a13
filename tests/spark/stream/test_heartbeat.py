"""What is due by the clock does not wait for rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark.sql.streaming.state import GroupState

from trimtab.spark import Batch, Stream

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
