"""A function meets the states and timeouts that Spark's own call would show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import types as T
from pyspark.sql.streaming.state import GroupState

from tests.spark.stream.state.lanes import CONVERSIONS, Lanes, laid_out, struct
from trimtab.errors import FunctionFailed
from trimtab.spark.stream.state.state_function import Moment, StateFunction

RESULT = struct(user=T.StringType(), n=T.LongType(), note=T.StringType())

START = Moment(1000, None)

Rows = Iterator[pd.DataFrame]


def work(
    function: Callable[..., Any],
    timeout: str = "NoTimeout",
    moment: Moment = START,
    names: bool = True,
) -> StateFunction:
    return StateFunction(function, RESULT, timeout, moment, CONVERSIONS, names)


def told(key: tuple[Any, ...], n: int, note: str) -> pd.DataFrame:
    return pd.DataFrame({"user": key, "n": [n], "note": [note]})


def count(key: tuple[Any, ...], rows: Rows, state: GroupState) -> Iterator[pd.DataFrame]:
    total = (state.get[0] if state.exists else 0) + sum(map(len, rows))
    state.update((total, "seen"))
    yield told(key, total, "")


def counting() -> StateFunction:
    return work(count)


def test_a_key_may_be_null_and_is_a_key_of_its_own(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    for total in (2, 4):
        results, _ = lanes.run(counting(), laid_out([(None, 1, 0), ("", 1, 0), (None, 2, 0)]))
        assert {row["user"]: row["n"] for row in results} == {None: total, "": total // 2}


def test_a_group_sees_gaps_only_if_it_has_some(tmp_path: Path) -> None:
    seen: dict[Any, Any] = {}

    def look(key: tuple[Any, ...], rows: Rows, state: GroupState) -> Iterator[pd.DataFrame]:
        for frame in rows:
            seen.setdefault(key[0], []).append(frame["x"].dtype)
        return iter([])

    lanes = Lanes(tmp_path)
    lanes.run(work(look), laid_out([("a", 1, 0), ("b", None, 0), ("b", 2, 0)]), chunk=10)
    assert seen == {"a": [np.dtype("int32")], "b": [np.dtype("float64")]}


def test_rows_that_were_not_asked_for_are_passed_over(tmp_path: Path) -> None:
    def first(key: tuple[Any, ...], rows: Rows, state: GroupState) -> Iterator[pd.DataFrame]:
        frame = next(rows)
        yield told(key, int(frame["x"].iloc[0]), "")

    rows = [("a", 1, 0)] * 30 + [("b", 2, 0)] * 30
    results, record = Lanes(tmp_path).run(work(first), laid_out(rows))
    assert sorted((row["user"], row["n"]) for row in results) == [("a", 1), ("b", 2)]
    assert record["changed"] == 0


def quiet(key: tuple[Any, ...], rows: Rows, state: GroupState) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        (frame,) = rows
        yield told(key, len(frame), f"due {state.exists} {list(frame.columns)}")
        if key[0] == "gone":
            state.remove()
        elif key[0] == "later":
            state.setTimeoutDuration(500)
        return
    if key[0] == "awaited":
        state.remove()
    else:
        state.update((1, None))
    if key[0] != "never":
        state.setTimeoutDuration(100)


def test_timeouts_come_due_in_processing_time_as_in_spark(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    users = ["gone", "later", "awaited", "never", "again"]
    kind = "ProcessingTimeTimeout"

    def due(time: int, *users: str) -> list[tuple[str, str]]:
        rows = laid_out([(user, 1, 0) for user in users])
        results, _ = lanes.run(work(quiet, kind, Moment(time, None)), rows)
        return sorted((row["user"], row["note"].split(" [")[0]) for row in results)

    assert due(1000, *users) == []
    # A timeout is due when it lies before the batch, not when it is the same.
    assert due(1100) == []
    # A key with new rows gets a new timeout.
    assert due(1101, "again") == [
        ("awaited", "due False"),
        ("gone", "due True"),
        ("later", "due True"),
    ]
    # A function that does nothing when a key is due sees it again, as in Spark.
    assert due(1150) == [("awaited", "due False")]
    assert due(1202) == [("again", "due True"), ("awaited", "due False")]
    assert [user for user, _ in due(1700)] == ["again", "awaited", "later"]


def test_timeouts_come_due_in_event_time(tmp_path: Path) -> None:
    def at_ten(key: tuple[Any, ...], rows: Rows, state: GroupState) -> Iterator[pd.DataFrame]:
        if state.hasTimedOut:
            yield told(key, state.getCurrentWatermarkMs(), "due")
            state.remove()
        else:
            state.update((0, None))
            state.setTimeoutTimestamp(10_000)

    lanes = Lanes(tmp_path)
    for watermark, results in ((0, 0), (10_000, 0), (10_001, 1), (20_000, 0)):
        calls = work(at_ten, "EventTimeTimeout", Moment(1, watermark))
        found, record = lanes.run(calls, laid_out([("a", 1, 0)] if watermark == 0 else []))
        assert [row["n"] for row in found] == [watermark] * results
    assert lanes.stacks == ((),)
    assert record["keys"] == 0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        pytest.param(lambda k, r, s: 1 / 0, "ZeroDivisionError", id="it raises"),
        pytest.param(lambda k, r, s: 5, "UDF_RETURN_TYPE|iterable", id="it gives a number"),
        pytest.param(lambda k, r, s: told(k, 1, ""), "iterable", id="it gives a frame"),
        pytest.param(lambda k, r, s: [pd.DataFrame({"a": [1]})], "3", id="it gives other columns"),
        pytest.param(lambda k, r, s: s.update((1,)) or [], "1 values", id="its state is too short"),
        pytest.param(lambda k, r, s: s.setTimeoutDuration(5) or [], "timeout", id="no timeouts"),
        pytest.param(
            lambda k, r, s: s.update(("x" if k[0] == "a" else 1, "")) or [],
            "does not fit struct<n:bigint",
            id="its state is of another type",
        ),
        pytest.param(
            lambda k, r, s: [told(k, "x" if k[0] == "a" else 1, "")],  # type: ignore[arg-type]
            "what it gave does not fit",
            id="its rows are of another type",
        ),
    ],
)
def test_what_a_function_does_wrong_is_told_with_its_key(
    tmp_path: Path, function: Any, words: str
) -> None:
    with pytest.raises(FunctionFailed, match=rf"key \('a',\).*({words})"):
        Lanes(tmp_path).run(work(function), laid_out([("a", 1, 0), ("b", 1, 0)]), chunk=9)
    with pytest.raises(FunctionFailed, match="key of hash"):
        Lanes(tmp_path).run(work(function, names=False), laid_out([("a", 1, 0)]))
