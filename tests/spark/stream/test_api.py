"""The stream's other operations and sinks, and what it tells about itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.stream.inputs import (
    NOW,
    SCHEMA,
    START,
    in_order,
    read_stream,
    sorted_rows,
    whole,
    windowed,
)
from trimtab.errors import InvalidArgument
from trimtab.journal.event_log import EventLog
from trimtab.plan import Plan
from trimtab.spark.stream.api import Stream, stream
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.windows import segments
from trimtab.spark.stream.windows.segments import COMPACT_AFTER

pytestmark = pytest.mark.spark


def test_a_function_gets_every_batch_on_its_lanes(
    begin: Callable[..., Stream], spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    batches: list[Batch] = []
    placed: list[dict[int, int]] = []
    counts: dict[str | None, int] = {}

    def note(rows: DataFrame, batch: Batch) -> None:
        batches.append(batch)
        assert rows.columns == spark.createDataFrame([], SCHEMA).columns
        found = rows.groupBy("user", F.spark_partition_id().alias("lane")).count().collect()
        placed.append({})
        for row in found:
            counts[row["user"]] = counts.get(row["user"], 0) + row["count"]
            placed[-1][row["lane"]] = placed[-1].get(row["lane"], 0) + row["count"]

    made = begin(partitioner="kip", look="never")
    made.for_each_batch(note).start(trigger=NOW).awaitTermination()
    assert [batch.id for batch in batches] == [0, 1, 2, 3]
    expected = whole(spark, files).groupBy("user").count().collect()
    assert counts == {row["user"]: row["count"] for row in expected}
    events = list(EventLog(tmp_path / "ck").events())
    for event, lanes, batch in zip(events, placed, batches, strict=True):
        assert isinstance(batch.plan, Plan)
        assert batch.lanes == 3
        assert event["loads"] == [lanes.get(lane, 0) for lane in range(3)]
        assert event["plan"] == batch.plan.fingerprint
    assert batches[0].statistics is None
    assert batches[1].statistics is not None
    assert batches[1].loads is not None
    assert batches[1].loads.sum() == pytest.approx(400)
    assert batches[1].statistics.label(int(batches[1].statistics.hashes[0])).startswith("user")
    assert made.progress() == events[-1]


def test_a_function_that_never_looks_at_its_rows_harms_nobody(
    begin: Callable[..., Stream],
) -> None:
    made = begin().for_each_batch(lambda rows, batch: None)
    threads = threading.active_count()
    made.start(trigger=NOW).awaitTermination()
    assert threading.active_count() <= threads + 2  # Spark's own callback threads
    event = made.progress()
    assert event is not None
    assert event["batch"] == 3
    assert "rows" not in event


def test_apply_sees_all_rows_of_a_key_at_once(
    begin: Callable[..., Stream], spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    def count(key: tuple[str | None], rows: pd.DataFrame) -> pd.DataFrame:
        assert list(rows.columns) == ["user", "ts", "price", "weight", "amount", "flag"]
        return pd.DataFrame({"user": [key[0]], "rows": [len(rows)], "first": [rows["ts"].min()]})

    made = begin().apply(count, "user string, rows long, first timestamp")
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    per_file = [whole(spark, [path]) for path in files]
    expected = [
        row
        for frame in per_file
        for row in frame.groupBy("user")
        .agg(F.count("*").alias("rows"), F.min("ts").alias("first"))
        .collect()
    ]
    assert sorted_rows(spark.read.parquet(str(tmp_path / "out"))) == sorted(expected, key=repr)


def test_several_keys_expressions_and_odd_column_names(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    frame = read_stream(spark, files[0].parent).withColumnRenamed("price", "a price (in €)")
    made = stream(
        frame,
        ["user", (F.col("flag") & F.col("amount").isNotNull()).alias("odd flag")],
        3,
        checkpoint=str(tmp_path / "ck"),
        layout="lanes",
    ).aggregate(time="ts", window="1 hour", n=F.count("*"), paid="sum(`a price (in €)`)")
    made.start(memory="odd_names", output_mode="update", trigger=NOW).awaitTermination()
    result = spark.table("odd_names")
    assert result.columns == ["window", "user", "odd flag", "n", "paid"]
    event = made.progress()
    assert event is not None
    assert ", " in event["hottest"][0]["key"]
    latest = result.groupBy("window", "user", "odd flag").agg(F.max("n").alias("n"))
    expected = whole(spark, files).where("ts is not null").count()
    dropped = sum(e["late_rows"] for e in EventLog(tmp_path / "ck").events())
    assert latest.agg(F.sum("n")).collect()[0][0] == expected - dropped


def test_a_table_is_made_written_and_written_on(
    begin: Callable[..., Stream], spark: SparkSession
) -> None:
    spark.sql("DROP TABLE IF EXISTS streamed")
    windowed(begin()).start(table="streamed", trigger=NOW).awaitTermination()
    first = sorted_rows(spark.table("streamed"))
    assert len(first) > 20
    windowed(begin()).start(table="streamed", trigger=NOW).awaitTermination()
    assert sorted_rows(spark.table("streamed")) == first
    spark.sql("DROP TABLE streamed")


def test_results_can_go_to_a_function(begin: Callable[..., Stream]) -> None:
    seen: list[tuple[int, int]] = []
    made = windowed(begin())
    query = made.start(
        function=lambda results, batch: seen.append((batch.id, results.count())), trigger=NOW
    )
    query.awaitTermination()
    assert [number for number, _ in seen] == [0, 1, 2, 3]
    assert min(count for _, count in seen) > 0


def test_a_query_goes_on_where_it_stopped_with_other_lanes_and_partitioners(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    for count, (lanes, partitioner) in enumerate(
        [(3, "trim"), (5, "kip"), (2, "pkg"), (4, "hash")], start=1
    ):
        place = tmp_path / "in"
        place.mkdir(exist_ok=True)
        pq.write_table(pq.read_table(files[count - 1]), place / f"{count}.parquet")
        made = stream(
            read_stream(spark, place),
            "user",
            lanes,
            partitioner,
            str(tmp_path / "ck"),
            layout="lanes",
        )
        windowed(made).start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    events = list(EventLog(tmp_path / "ck").events())
    assert [len(event["loads"]) for event in events] == [3, 5, 2, 4]
    assert all(
        sum(event["loads"]) == event["rows"] - event["late_rows"] - event["unusable_times"]
        for event in events
    )
    once = stream(read_stream(spark, files[0].parent), "user", 3, checkpoint=str(tmp_path / "ck2"))
    windowed(once).start(str(tmp_path / "out2"), trigger=NOW).awaitTermination()
    results = [sorted_rows(spark.read.parquet(str(tmp_path / name))) for name in ("out", "out2")]
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("batches", "most_pieces"),
    [
        pytest.param(6, 4, id="few are kept"),
        pytest.param(20, COMPACT_AFTER, id="as always", marks=pytest.mark.exhaustive),
    ],
)
def test_more_batches_than_are_kept_in_pieces(
    batches: int,
    most_pieces: int,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segments, "COMPACT_AFTER", most_pieces)
    length = batches - 2
    place = tmp_path / "in"
    place.mkdir()
    for number in range(batches):
        rows = {
            "user": ["a", "b", "a"],
            "ts": pa.array([(START + number) * 10**6] * 3, pa.timestamp("us", "UTC")),
        }
        pq.write_table(pa.table(rows), place / f"{number:02d}.parquet")
        in_order(place / f"{number:02d}.parquet", number)
    frame = spark.readStream.schema("user string, ts timestamp").option("maxFilesPerTrigger", 1)
    made = stream(frame.parquet(str(place)), "user", 2, checkpoint=str(tmp_path / "ck")).aggregate(
        time="ts",
        window=f"{length} seconds",
        slide="1 second",
        watermark="0 seconds",
        n=F.count("*"),
    )
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).collect()
    counts = {(int(r["window"]["start"].timestamp()) - START, r["user"]): r["n"] for r in found}
    for first in range(1 - length, 2):
        seconds = len([s for s in range(batches) if first <= s < first + length])
        assert counts.pop((first, "a")) == 2 * seconds
        assert counts.pop((first, "b")) == seconds
    assert not counts
    events = list(EventLog(tmp_path / "ck").events())
    assert max(event["pane_files"] for event in events) <= most_pieces
    assert events[-1]["pane_files"] < most_pieces
    assert len(pq.read_table(tmp_path / "out")) == len(found)


def test_an_empty_batch_and_a_batch_with_one_key(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "in"
    place.mkdir()
    kinds = pa.schema([("user", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
    moment = START * 10**6
    for number, rows in enumerate([[], [("a", moment)] * 50, [], [("a", moment + 60 * 10**6)]]):
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, kinds, strict=True)]
        pq.write_table(pa.table(arrays, schema=kinds), place / f"{number}.parquet")
        in_order(place / f"{number}.parquet", number)
    frame = spark.readStream.schema("user string, ts timestamp").option("maxFilesPerTrigger", 1)
    made = stream(
        frame.parquet(str(place)), "user", 4, checkpoint=str(tmp_path / "ck"), layout="lanes"
    ).aggregate(time="ts", window="10 seconds", watermark="0 seconds", n=F.count("*"))
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    (row,) = spark.read.parquet(str(tmp_path / "out")).collect()
    assert (row["user"], row["n"]) == ("a", 50)
    events = list(EventLog(tmp_path / "ck").events())
    assert [event["rows"] for event in events] == [0, 50, 0, 1]
    levels = [event["max_over_mean"] for event in events]
    assert levels[::2] == [None, None]
    # The batch was looked at, and its 50 equal rows of one key went to all lanes.
    assert levels[1] < 2
    assert levels[3] == 4.0


def test_absurd_and_missing_times_are_counted_and_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    times = [START * 10**6, None, -(2**62), 2**62, -5 * 10**6, (START + 30) * 10**6]
    pq.write_table(
        pa.table({"user": ["a"] * 6, "at": pa.array(times, pa.int64())}), place / "0.parquet"
    )
    frame = spark.readStream.schema("user string, at long").parquet(str(place))
    made = stream(
        frame.withColumn("ts", F.timestamp_micros("at")), "user", 2, checkpoint=str(tmp_path / "ck")
    ).aggregate(time="ts", window="10 seconds", watermark="0 seconds", n=F.count("*"))
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    event = made.progress()
    assert event is not None
    # Spark's own watermark begins at 1970, so that a time before it is late.
    assert (event["rows"], event["unusable_times"], event["late_rows"]) == (6, 3, 1)
    (row,) = spark.read.parquet(str(tmp_path / "out")).collect()
    assert row["n"] == 1


def test_times_without_a_zone_give_windows_without_a_zone(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    times = pa.array([5_000_000, 65_000_001], pa.timestamp("us"))
    pq.write_table(pa.table({"user": ["a", "a"], "ts": times}), place / "0.parquet")
    frame = spark.readStream.schema("user string, ts timestamp_ntz").parquet(str(place))
    made = stream(frame, "user", 2, checkpoint=str(tmp_path / "ck")).aggregate(
        time="ts", window="10 seconds", watermark="0 seconds", n=F.count("*")
    )
    made.start(memory="no_zone", trigger=NOW).awaitTermination()
    kinds = [
        field.dataType.simpleString() for field in spark.table("no_zone").schema["window"].dataType
    ]
    assert kinds == ["timestamp_ntz", "timestamp_ntz"]
    (row,) = spark.table("no_zone").collect()
    assert str(row["window"]["start"]) == "1970-01-01 00:00:00"


def test_the_log_tells_what_happened(begin: Callable[..., Stream], tmp_path: Path) -> None:
    made = windowed(begin(layout="lanes", look="never"))
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    text = "".join(p.read_text() for p in sorted((tmp_path / "ck" / "events").iterdir()))
    events = [json.loads(line) for line in text.splitlines()]
    assert [event["batch"] for event in events] == [0, 1, 2, 3]
    for event in events:
        assert len(event["plan"]) == 16
        assert event["plan_version"] >= 1
        assert isinstance(event["changed"], bool)
        assert event["reason"]
        assert event["look"] == {"how": "none", "reason": "looks are switched off"}
        loads = np.array(event["loads"])
        assert event["max_over_mean"] == pytest.approx(loads.max() / loads.mean(), abs=1e-3)
        assert 1 <= event["replication"] < 2
        assert event["rows"] == 400
        assert event["late_rows"] >= 0
        assert 5 < event["distinct_keys"] < 60
        assert event["hottest"][0]["share"] > 0.1
        assert event["seconds"]["total"] > 0
        assert event["map_tasks"] == 3
        # Of each row its user and its time, at 8 bytes, and no column that nothing asks for.
        assert 400 * 9 < event["bytes_moved"] < 400 * 20
    assert sum(event["late_rows"] for event in events) > 10
    assert events[1]["changed"]
    assert events[1]["max_over_mean"] < events[0]["max_over_mean"]


@pytest.mark.exhaustive
def test_the_hottest_keys_are_named_whether_rows_are_looked_at_or_only_what_they_came_to(
    begin: Callable[..., Stream], spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    made = windowed(begin(layout="source"), watermark="1 hour", window="1 minute")
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    events = list(EventLog(tmp_path / "ck").events())
    assert [event["rows_on_lanes"] for event in events] == [False] * len(files)
    for event, path in zip(events, files, strict=True):
        rows = spark.read.schema(SCHEMA).parquet(str(path)).where("ts IS NOT NULL")
        counts = rows.groupBy("user").count().orderBy(F.desc("count"), "user").limit(3).collect()
        shares = [round(row["count"] / rows.count(), 4) for row in counts]
        assert [hot["share"] for hot in event["hottest"][:3]] == shares
        assert event["hottest"][0]["key"] == (counts[0]["user"] or "null")


@pytest.mark.parametrize("given", ["false", 1, [("batches", 2)]])
def test_an_autoscale_that_says_neither_is_refused(
    begin: Callable[..., Stream], given: object
) -> None:
    with pytest.raises(InvalidArgument, match="autoscale must be True, False or a mapping"):
        begin(autoscale=given)


def test_tasks_follow_the_load(begin: Callable[..., Stream], tmp_path: Path) -> None:
    made = begin(lanes=2, autoscale={"batches": 1})
    # No batch fits into a microsecond: the first one asks for more tasks. Those after it hold what
    # has come since the one before them, and what they ask for depends on how long that took.
    query = windowed(made).start(str(tmp_path / "out"), trigger={"processingTime": "1 microsecond"})
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    events = list(EventLog(tmp_path / "ck").events())
    tasks = [event["map_tasks"] for event in events]
    assert tasks[:2] == [2, 3]
    assert [len(event["loads"]) for event in events] == tasks
    assert "overloaded" in events[1]["scaling"]
