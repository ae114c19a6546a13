"""Streams on the log of a receiver: its counts and its blocks, and Spark's own results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.receive.written_logs import rows_of, write_batch, write_log
from tests.spark.stream.inputs import NOW
from trimtab.journal.event_log import EventLog
from trimtab.receive.log import Log
from trimtab.spark import Stream, received, stream
from trimtab.spark.stream.looking import TOLD

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("logs")
    for log, numbers in (("a", (0, 1, 2)), ("b", (5, 6))):
        write_log(place / log)
        for batch, number in enumerate(numbers):
            write_batch(place / log, batch, rows_of(number))
    return place


@pytest.fixture
def place(pristine: Path, tmp_path: Path) -> Path:
    # What one query has committed, another would not see.
    return Path(shutil.copytree(pristine, tmp_path / "logs"))


def begin(spark: SparkSession, place: Path, *logs: str, key: str = "k", **options: Any) -> Stream:
    frame = received(spark, [place / log for log in logs], max_batches=1)
    return stream(frame, key, 3, checkpoint=str(place / "ck"), **options)


def events(place: Path) -> list[dict[str, Any]]:
    return list(EventLog(place / "ck").events())


def per_key(*numbers: int) -> list[tuple[str, int, int]]:
    rows = pa.concat_tables([rows_of(number) for number in numbers]).to_pandas()
    found = rows.groupby("k")["x"].agg(["count", "sum"]).reset_index()
    return sorted((k, int(n), int(total)) for k, n, total in found.itertuples(index=False))


@pytest.mark.smoke
def test_windows_are_combined_in_the_blocks_of_the_receivers(
    spark: SparkSession, place: Path
) -> None:
    made = begin(spark, place, "a", "b").aggregate(
        time="ts", window="1 hour", n="count(*)", total="sum(x)"
    )
    out = str(place / "out")
    made.start(out, output_mode="update", batch_column="batch", trigger=NOW).awaitTermination()
    found = spark.read.parquet(out).groupBy("k").agg({"n": "max", "total": "max"})
    rows = [(row["k"], row["max(n)"], row["max(total)"]) for row in found.collect()]
    assert sorted(rows) == per_key(0, 1, 2, 5, 6)
    lines = events(place)
    assert [line["rows"] for line in lines] == [800, 800, 400]
    assert [line["map_tasks"] for line in lines] == [8, 8, 4]
    for line in lines:
        assert line["look"] == {"how": TOLD, "reason": "the receiver has counted the keys"}
        assert line["reason"].startswith("plan of the receiver")
        assert (line["bytes_moved"], line["rows_on_lanes"]) == (0, False)
        assert sum(line["loads"]) == line["rows"]
        assert line["max_over_mean"] < 1.2
    # The first batch is looked at in passing; in others only keys of many rows get their names.
    assert lines[-1]["hottest"][0]["key"] == "k1"
    blocks = [b.rows for log in "ab" for b in Log.open(place / log).manifest(0).blocks]
    assert lines[0]["loads"] == blocks
    # The batch before the last is committed, with the time that it took.
    told = Log.open(place / "a").committed()
    assert (told.batch, told.rows) == (1, 400)
    assert told.seconds is not None
    assert told.seconds > 0


def sums(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"k": key, "n": [len(rows)], "total": [rows["x"].sum()]})


def test_whole_keys_are_planned_from_what_the_receiver_has_counted(
    spark: SparkSession, place: Path
) -> None:
    made = begin(spark, place, "a").apply(sums, "k string, n long, total long")
    made.start(str(place / "out"), trigger=NOW).awaitTermination()
    found = spark.read.parquet(str(place / "out")).groupBy("k").agg({"n": "sum", "total": "sum"})
    rows = [(row["k"], row["sum(n)"], row["sum(total)"]) for row in found.collect()]
    assert sorted(rows) == per_key(0, 1, 2)
    lines = events(place)
    assert [line["look"]["how"] for line in lines] == [TOLD] * 3
    assert lines[0]["reason"].startswith("planned from the batch's own keys")
    assert all(len(line["loads"]) == 3 for line in lines)


@pytest.mark.exhaustive
def test_names_of_hot_keys_can_be_kept_out(spark: SparkSession, place: Path) -> None:
    made = begin(spark, place, "b", names="hash").aggregate(
        time="ts", window="1 hour", n="count(*)"
    )
    query = made.start(str(place / "out"), output_mode="update", batch_column="b", trigger=NOW)
    query.awaitTermination()
    hottest = [hot["key"] for line in events(place) for hot in line["hottest"]]
    assert len(hottest) == 10
    assert all(key.startswith("0x") for key in hottest)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"key": "x"}, id="the key is another one"),
        pytest.param({"layout": "lanes"}, id="rows are to move", marks=pytest.mark.exhaustive),
    ],
)
def test_rows_move_where_blocks_are_not_what_is_wanted(
    asked: dict[str, Any], spark: SparkSession, place: Path
) -> None:
    made = begin(spark, place, "b", **asked).aggregate(time="ts", window="1 hour", n="count(*)")
    out = str(place / "out")
    made.start(out, output_mode="update", batch_column="batch", trigger=NOW).awaitTermination()
    lines = events(place)
    on_lanes = "layout" in asked
    assert [line["look"]["how"] == TOLD for line in lines] == [on_lanes, on_lanes]
    assert [line["rows_on_lanes"] for line in lines] == [on_lanes, on_lanes]
    assert not any(line["reason"].startswith("plan of the receiver") for line in lines)
    assert json.loads((place / "ck" / "spark" / "offsets" / "1").read_text().splitlines()[2])
