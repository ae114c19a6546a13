"""A lane's task gives its results and one record, and names one new file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import types as T

from tests.spark.stream.state.lanes import ROWS, SHAPE, Lanes, laid_out, struct
from tests.spark.stream.state.test_state_function import counting
from trimtab.errors import CorruptState
from trimtab.journal.store.local import LocalStore
from trimtab.spark.stream.state.arrow_function import ArrowCalls
from trimtab.spark.stream.state.conversions import Conversions
from trimtab.spark.stream.state.duplicates import FirstRows
from trimtab.spark.stream.state.lane import LaneTask, Work, piece_names
from trimtab.spark.stream.state.reading import LaneReader
from trimtab.spark.stream.state.running import Merge
from trimtab.spark.stream.state.sessions import MergeSessions
from trimtab.spark.stream.state.shape import Shape
from trimtab.spark.stream.state.state_function import Moment, StateFunction

ZONE = "Asia/Tokyo"
MOMENT = T.TimestampType()
TIMED = struct(user=T.StringType(), ts=MOMENT)
LATEST = struct(ts=MOMENT)


def test_a_lane_without_rows_gives_its_record_and_keeps_its_files(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    lanes.run(counting(), laid_out([("a", 1, 0), ("b", 1, 0)]))
    before = lanes.stacks
    results, record = lanes.run(counting(), laid_out([]))
    assert results == []
    assert (record["keys"], record["changed"]) == (0, 0)
    assert lanes.stacks == before


def test_a_second_attempt_writes_a_file_of_its_own(tmp_path: Path) -> None:
    rows = laid_out([("a", 1, 0)]).to_batches()
    for _ in range(2):
        list(LaneTask(LocalStore(tmp_path), 0, SHAPE, counting(), ((),))(iter(rows)))
    assert len(list((tmp_path / "keyed").iterdir())) == 2


def test_a_file_that_is_gone_is_refused_by_name(tmp_path: Path) -> None:
    lanes = Lanes(tmp_path)
    lanes.run(counting(), laid_out([("a", 1, 0)]))
    (tmp_path / lanes.stacks[0][0].name).unlink()
    with pytest.raises(CorruptState, match=lanes.stacks[0][0].name):
        lanes.run(counting(), laid_out([("a", 1, 0)]))


def test_totals_are_those_of_all_rows_however_rows_are_cut(tmp_path: Path) -> None:
    rng, totals, keys = np.random.default_rng(5), {}, 0
    lanes = Lanes(tmp_path)
    for batch in range(12):
        users = [f"u{k}" for k in rng.zipf(1.4, 200) % 60]
        for user in users:
            totals[user] = totals.get(user, 0) + 1
        rows = laid_out([(user, 1, 0) for user in users])
        results, record = lanes.run(counting(), rows, chunk=1 + 9 * batch)
        assert {row["user"]: row["n"] for row in results} == {u: totals[u] for u in set(users)}
        keys += record["keys"]
    assert keys == len(totals)
    assert piece_names(2) == ["c0", "c1", "record"]


def latest(key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: Any) -> list[pd.DataFrame]:
    newest = max([*(frame["ts"].max() for frame in rows), *(state.getOption or ())])
    state.update((newest.to_pydatetime(),))
    return [pd.DataFrame({"user": key[:1], "ts": [newest]})]


def newest(keys: pa.Table, rows: pa.Table, states: pa.Table) -> tuple[pa.Table, pa.Table]:
    times = rows.group_by("row_of_key").aggregate([("ts", "max")]).sort_by("row_of_key")["ts_max"]
    return pa.table({"user": keys["user"], "ts": times}), pa.table({"ts": times})


def function_of_frames(watermark: int) -> Work:
    shown = Conversions(ZONE, False, True, False, False)
    return StateFunction(latest, TIMED, "NoTimeout", Moment(0, None), shown, True)


def function_of_tables(watermark: int) -> Work:
    return ArrowCalls(newest, TIMED, LATEST, ("user", "ts"))


def first_rows(watermark: int) -> Work:
    return FirstRows(ROWS, "ts", 1_000_000, watermark)


def running(watermark: int) -> Work:
    return Merge([("ts", "max")], struct(user=T.StringType(), day=MOMENT, ts=MOMENT))


def sessions(watermark: int) -> Work:
    span = {"start": T.LongType(), "end": T.LongType()}
    result = struct(user=T.StringType(), day=MOMENT, **span, ts=MOMENT)
    return MergeSessions([("ts", "max")], result, watermark)


@pytest.mark.parametrize(
    ("made", "state"),
    [
        pytest.param(function_of_frames, LATEST, id="a function of frames"),
        pytest.param(function_of_tables, LATEST, id="a function of tables"),
        pytest.param(first_rows, struct(), id="first rows"),
        pytest.param(running, LATEST, id="running aggregates"),
        pytest.param(
            sessions,
            struct(
                start=T.ArrayType(T.LongType()),
                end=T.ArrayType(T.LongType()),
                ts=T.ArrayType(MOMENT),
            ),
            id="sessions",
        ),
    ],
)
def test_moments_come_out_as_they_are_in_any_time_zone(
    tmp_path: Path, made: Any, state: T.StructType
) -> None:
    # Two columns of the key, one of them a moment that is the same in all rows of a user.
    times = [T.StructField(name, T.LongType()) for name in ("at", "until")]
    rows = T.StructType([*ROWS.fields, *times])
    shape = Shape.of(rows, ["user", "ts"], ["user", "day"], [], state)
    lanes = Lanes(tmp_path, shape)
    seconds = {"a": 1_700_000_000, "b": 1_700_000_500}
    wanted = {user: datetime.fromtimestamp(second, UTC) for user, second in seconds.items()}
    found: dict[str, datetime] = {}
    for watermark in (0, 1_800_000_000_000):
        given = [(user, 1, second * 1_000_000) for user, second in seconds.items() if not watermark]
        table = laid_out(given, shape, zone=ZONE)
        at = table["ts"].cast(pa.int64())
        table = table.append_column("at", at).append_column("until", pc.add(at, 1_000_000))
        results, _ = lanes.run(made(watermark), table)
        found |= {row["user"]: row["ts"] for row in results}
        if not watermark:
            of_lane = LaneReader(LocalStore(tmp_path), shape, lanes.stacks).of_lane(0)
            days = [key["day"] for key in of_lane.column("key").to_pylist()]
            assert sorted(days) == sorted(wanted.values())
    assert found == wanted
