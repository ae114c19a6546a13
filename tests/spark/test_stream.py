"""The stream's other operations and sinks, what it refuses, and what it tells about itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.stream_inputs import SCHEMA, START, in_order, read_stream, sorted_rows, write_files
from trimtab import planner
from trimtab.errors import CorruptState, InvalidArgument, SplitKeysRefused, UnknownName
from trimtab.plan import Plan
from trimtab.spark.eventlog import EventLog
from trimtab.spark.stream import Startable, Stream, stream
from trimtab.spark.stream_operations import Batch

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("input") / "in", 4)


@pytest.fixture
def begin(spark: SparkSession, files: list[Path], tmp_path: Path) -> Callable[..., Stream]:
    def made(key: Any = "user", lanes: Any = 3, **options: Any) -> Stream:
        frame = read_stream(spark, files[0].parent)
        return stream(frame, key, lanes, **{"checkpoint": str(tmp_path / "ck"), **options})

    return made


def windowed(made: Stream, **options: Any) -> Startable:
    asked = {"time": "ts", "window": "10 seconds", "watermark": "5 seconds", "n": F.count("*")}
    return made.aggregate(**{**asked, **options})


def whole(spark: SparkSession, files: list[Path]) -> DataFrame:
    return spark.read.schema(SCHEMA).parquet(*map(str, files))


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

    made = begin(partitioner="kip")
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
    begin: Callable[..., Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.spark.stream_operations.WAIT_SECONDS", 0.2)
    made = begin().for_each_batch(lambda rows, batch: None)
    made.start(trigger=NOW).awaitTermination()
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


def test_more_batches_than_are_kept_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "in"
    place.mkdir()
    for number in range(20):
        rows = {
            "user": ["a", "b", "a"],
            "ts": pa.array([(START + number) * 10**6] * 3, pa.timestamp("us", "UTC")),
        }
        pq.write_table(pa.table(rows), place / f"{number:02d}.parquet")
        in_order(place / f"{number:02d}.parquet", number)
    frame = spark.readStream.schema("user string, ts timestamp").option("maxFilesPerTrigger", 1)
    made = stream(frame.parquet(str(place)), "user", 2, checkpoint=str(tmp_path / "ck")).aggregate(
        time="ts", window="18 seconds", slide="1 second", n=F.count("*")
    )
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).collect()
    counts = {(int(r["window"]["start"].timestamp()) - START, r["user"]): r["n"] for r in found}
    for first in range(-17, 2):
        seconds = len([s for s in range(20) if first <= s < first + 18])
        assert counts.pop((first, "a")) == 2 * seconds
        assert counts.pop((first, "b")) == seconds
    assert not counts
    events = list(EventLog(tmp_path / "ck").events())
    assert max(event["pane_files"] for event in events) <= 16
    assert events[-1]["pane_files"] < 16
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
    ).aggregate(time="ts", window="10 seconds", n=F.count("*"))
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    (row,) = spark.read.parquet(str(tmp_path / "out")).collect()
    assert (row["user"], row["n"]) == ("a", 50)
    events = list(EventLog(tmp_path / "ck").events())
    assert [event["rows"] for event in events] == [0, 50, 0, 1]
    assert [event["max_over_mean"] for event in events] == [
        None,
        4.0,
        None,
        pytest.approx(4, abs=3),
    ]


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
    ).aggregate(time="ts", window="10 seconds", n=F.count("*"))
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
        time="ts", window="10 seconds", n=F.count("*")
    )
    made.start(memory="no_zone", trigger=NOW).awaitTermination()
    kinds = [
        field.dataType.simpleString() for field in spark.table("no_zone").schema["window"].dataType
    ]
    assert kinds == ["timestamp_ntz", "timestamp_ntz"]
    (row,) = spark.table("no_zone").collect()
    assert str(row["window"]["start"]) == "1970-01-01 00:00:00"


def test_the_log_tells_what_happened(begin: Callable[..., Stream], tmp_path: Path) -> None:
    windowed(begin(layout="lanes")).start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    text = (tmp_path / "ck" / "eventlog.jsonl").read_text()
    events = [json.loads(line) for line in text.splitlines()]
    assert [event["batch"] for event in events] == [0, 1, 2, 3]
    for event in events:
        assert len(event["plan"]) == 16
        assert event["plan_version"] >= 1
        assert isinstance(event["changed"], bool)
        assert event["reason"]
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


def test_tasks_follow_the_load(begin: Callable[..., Stream], tmp_path: Path) -> None:
    made = begin(lanes=2, autoscale={"batches": 1})
    # No batch fits into a microsecond: every batch asks for more tasks.
    query = windowed(made).start(str(tmp_path / "out"), trigger={"processingTime": "1 microsecond"})
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    events = list(EventLog(tmp_path / "ck").events())
    tasks = [event["map_tasks"] for event in events]
    assert tasks[0] == 2
    assert tasks[-1] > 2
    assert [len(event["loads"]) for event in events] == tasks
    assert "overloaded" in events[-1]["scaling"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        pytest.param(lambda b: b(key="nobody"), InvalidArgument, "no column 'nobody'", id="key"),
        pytest.param(lambda b: b(lanes=0), InvalidArgument, "lanes must be", id="lanes"),
        pytest.param(lambda b: b(partitioner="magic"), UnknownName, "known partit", id="name"),
        pytest.param(lambda b: b(partitioner=5), InvalidArgument, "a name or a planner", id="kind"),
        pytest.param(
            lambda b: b(partitioner=planner("kip", lanes=9)),
            InvalidArgument,
            "9 lanes",
            id="other lanes",
        ),
        pytest.param(lambda b: b(layout="moon"), InvalidArgument, "layout must be", id="layout"),
        pytest.param(
            lambda b: b(checkpoint=None), InvalidArgument, "checkpoint", id="no checkpoint"
        ),
        pytest.param(lambda b: b(checkpoint="s3://x/y"), InvalidArgument, "share", id="bucket"),
        pytest.param(lambda b: b(autoscale={"speed": 9}), InvalidArgument, "speed", id="autoscale"),
        pytest.param(
            lambda b: b(partitioner="pkg").apply(lambda rows: rows, SCHEMA),
            SplitKeysRefused,
            "needs every key in one place",
            id="apply with split keys",
        ),
        pytest.param(
            lambda b: b(partitioner="prompt").apply(lambda rows: rows, SCHEMA),
            SplitKeysRefused,
            "needs every key in one place",
            id="apply with a splitting planner",
        ),
        pytest.param(lambda b: b().apply(5, SCHEMA), InvalidArgument, "function", id="no function"),
        pytest.param(lambda b: b().apply(print, "a lang"), InvalidArgument, "schema", id="schema"),
        pytest.param(
            lambda b: b().for_each_batch(5), InvalidArgument, "function", id="nothing to call"
        ),
        pytest.param(
            lambda b: windowed(b(), time="when"), InvalidArgument, "time must be", id="no time"
        ),
        pytest.param(
            lambda b: windowed(b(), time="price"),
            InvalidArgument,
            "cast it first",
            id="time of a wrong type",
        ),
        pytest.param(
            lambda b: windowed(b(), window="ten"), InvalidArgument, "duration", id="window"
        ),
        pytest.param(
            lambda b: windowed(b(), slide="11 seconds"),
            InvalidArgument,
            "slide must not",
            id="slide",
        ),
        pytest.param(
            lambda b: b().aggregate(time="ts", window="1 hour"),
            InvalidArgument,
            "at least one aggregate",
            id="no aggregate",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.countDistinct("price")),
            InvalidArgument,
            "none of them DISTINCT",
            id="distinct",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.sum_distinct("price")),
            InvalidArgument,
            "none of them DISTINCT",
            id="distinct sum",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.stddev("price")),
            InvalidArgument,
            "cannot be merged",
            id="stddev",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.collect_list("price")),
            InvalidArgument,
            "cannot be merged",
            id="collect_list",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.sum("price") / 2),
            InvalidArgument,
            "arithmetic",
            id="arithmetic",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.sum("price").alias("x")),
            InvalidArgument,
            "alias",
            id="alias",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.sum("price").cast("int")),
            InvalidArgument,
            "cannot be merged",
            id="cast",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.avg(F.col("price") + 1)),
            InvalidArgument,
            "withColumn",
            id="avg of an expression",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.avg("amount")),
            InvalidArgument,
            "sum and count",
            id="avg decimal",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.sum("nothing")),
            InvalidArgument,
            "cannot be computed",
            id="no column",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.col("price")), InvalidArgument, "'n'", id="no call"
        ),
        pytest.param(
            lambda b: windowed(b(), n=5), InvalidArgument, "must be a Column", id="a number"
        ),
        pytest.param(
            lambda b: windowed(b(), user=F.count("*")), InvalidArgument, "rename", id="names"
        ),
        pytest.param(lambda b: windowed(b()).start(), InvalidArgument, "got none", id="no sink"),
        pytest.param(
            lambda b: windowed(b()).start("a", table="b"),
            InvalidArgument,
            "path and table",
            id="two sinks",
        ),
        pytest.param(
            lambda b: windowed(b()).start("a", output_mode="complete"),
            InvalidArgument,
            "update",
            id="mode",
        ),
        pytest.param(
            lambda b: windowed(b()).start("a", trigger={"often": 1}),
            InvalidArgument,
            "trigger",
            id="trigger",
        ),
        pytest.param(
            lambda b: windowed(b(autoscale=True)).start("a", trigger=NOW),
            InvalidArgument,
            "processingTime",
            id="autoscale without an interval",
        ),
        pytest.param(
            lambda b: b().for_each_batch(print).start("a"),
            InvalidArgument,
            "leave 'path'",
            id="path",
        ),
        pytest.param(
            lambda b: b().for_each_batch(print).start(output_mode="update"),
            InvalidArgument,
            "for aggregate",
            id="update of a function",
        ),
    ],
)
def test_mistakes_are_one_sentence_at_the_call(
    call: Callable[[Any], Any], error: type[Exception], words: str, begin: Callable[..., Stream]
) -> None:
    with pytest.raises(error) as refusal:
        call(begin)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_frame_that_does_not_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"spark\.readStream"):
        stream(spark.range(3), "id", 2, checkpoint=str(tmp_path))


def test_columns_with_names_of_ours_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    taken = spark.readStream.format("rate").load().toDF("ts", "__TRIMTAB_seen_item")
    with pytest.raises(InvalidArgument, match=r"'__TRIMTAB_seen_item' has a name that streams"):
        stream(taken, "ts", 2, checkpoint=str(tmp_path))


def test_columns_bound_to_another_frame_are_refused_at_the_call(
    begin: Callable[..., Stream], spark: SparkSession, files: list[Path]
) -> None:
    other = whole(spark, files)
    with pytest.raises(InvalidArgument, match="'n' cannot be computed"):
        windowed(begin(), n=F.sum(other["price"]))


def test_directories_and_checkpoints_of_others_are_refused_by_name(
    begin: Callable[..., Stream], spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    windowed(begin()).start(str(out), trigger=NOW).awaitTermination()
    with pytest.raises(CorruptState, match=r"meta\.json belongs to another query"):
        windowed(begin(), window="20 seconds").start(str(out), trigger=NOW)
    with pytest.raises(InvalidArgument, match="results of another query"):
        windowed(begin(checkpoint=str(tmp_path / "ck2"))).start(str(out), trigger=NOW)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(InvalidArgument, match="thesis"):
        windowed(begin()).start(str(tmp_path / "mine"), trigger=NOW)
    spark.sql("CREATE TABLE IF NOT EXISTS wrong_columns (a int) USING parquet")
    with pytest.raises(InvalidArgument, match="has the columns"):
        windowed(begin()).start(table="wrong_columns", trigger=NOW)
    spark.sql("DROP TABLE wrong_columns")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("meta.json", "meta.json", id="the query's own file"),
        pytest.param("eventlog.jsonl", "eventlog.jsonl", id="the event log"),
        pytest.param("state/3.json", "3.json", id="the last state"),
    ],
)
def test_damaged_files_are_refused_by_name_before_anything_runs(
    name: str, words: str, begin: Callable[..., Stream], tmp_path: Path
) -> None:
    begin().for_each_batch(lambda rows, batch: rows.count()).start(trigger=NOW).awaitTermination()
    path = tmp_path / "ck" / name
    path.write_text(path.read_text()[:50] + "\n")
    with pytest.raises(CorruptState, match="damaged") as refusal:
        begin().for_each_batch(print).start(trigger=NOW)
    assert words in str(refusal.value)


def test_a_lost_state_is_found_out_when_spark_asks_for_the_next_batch(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    pq.write_table(pq.read_table(files[0]), place / "0.parquet")

    def start() -> Any:
        made = stream(read_stream(spark, place), "user", 2, checkpoint=str(tmp_path / "ck"))
        return made.for_each_batch(lambda rows, batch: rows.count()).start(trigger=NOW)

    start().awaitTermination()
    (tmp_path / "ck" / "state" / "0.json").unlink()
    pq.write_table(pq.read_table(files[1]), place / "1.parquet")
    with pytest.raises(StreamingQueryException, match="do not belong together"):
        start().awaitTermination()
