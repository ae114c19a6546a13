"""Answers that were wrong without a word, and restarts that misled: each must stay right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.frames import clock_change, session_setting
from tests.spark.stream.inputs import NOW, SCHEMA, read_stream, sorted_rows, whole, windowed
from trimtab import router
from trimtab import state as states
from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal.checkpoint import Checkpoint
from trimtab.journal.event_log import EventLog
from trimtab.spark import Stream, stream

pytestmark = pytest.mark.spark


def events(place: Path) -> list[dict[str, Any]]:
    return list(EventLog(place / "ck").events())


def count_rows(rows: DataFrame, batch: Any) -> None:
    rows.count()


KEYS: dict[str, Callable[[], Any]] = {
    "an expression that has the name of a column": lambda: F.substring("user", 1, 5).alias("user"),
    "a field of a struct beside a column of its name": lambda: "payload.user",
    "an expression with a name of its own": lambda: (F.col("price") % 3).alias("rest"),
}


@pytest.mark.parametrize(
    "key",
    [
        "an expression that has the name of a column",
        "a field of a struct beside a column of its name",
        pytest.param("an expression with a name of its own", marks=pytest.mark.exhaustive),
    ],
)
def test_a_stream_groups_by_the_key_that_was_given(
    key: str, spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    def with_payload(df: DataFrame) -> DataFrame:
        # Shorter names: other groups than by the column beside it.
        return df.withColumn("payload", F.struct(F.substring("user", 1, 5).alias("user")))

    def sizes(rows: pd.DataFrame) -> pd.DataFrame:
        assert list(rows.columns) == names
        return pd.DataFrame({"rows": [len(rows)]})

    all_rows = with_payload(whole(spark, files))
    assert (
        all_rows.select("payload.user").distinct().count()
        < all_rows.select("user").distinct().count()
    )
    names = all_rows.columns
    given = KEYS[key]()
    frame = with_payload(read_stream(spark, files[0].parent))
    made = stream(frame, given, 3, checkpoint=str(tmp_path / "ck")).aggregate(
        time="ts", window="1 hour", watermark="1 day", n=F.count("*")
    )
    made.start(memory="by_key", output_mode="update", trigger=NOW).awaitTermination()
    shown = spark.table("by_key").columns[1]
    ours = spark.table("by_key").groupBy("window", shown).agg(F.max("n").alias("n"))
    column = F.col(given) if isinstance(given, str) else given
    hour = F.window("ts", "1 hour").alias("window")
    expected = (
        all_rows.where("ts IS NOT NULL")
        .groupBy(hour, column.alias(shown))
        .agg(F.count("*").alias("n"))
    )
    assert sorted_rows(ours) == sorted_rows(expected)
    applied = stream(frame, given, 3, checkpoint=str(tmp_path / "ck2")).apply(sizes, "rows long")
    applied.start(str(tmp_path / "sizes"), trigger=NOW).awaitTermination()
    found = spark.read.parquet(str(tmp_path / "sizes")).agg(F.sum("rows"), F.count("*"))
    groups = [all_rows_of(spark, path, with_payload, column) for path in files]
    assert tuple(found.collect()[0]) == (all_rows.count(), sum(groups))


def all_rows_of(spark: SparkSession, path: Path, change: Any, column: Any) -> int:
    return int(change(whole(spark, [path])).groupBy(column).count().count())


def test_two_hours_that_a_clock_shows_as_one_stay_two(spark: SparkSession, tmp_path: Path) -> None:
    def sizes(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"rows": [len(rows)], "first": [rows["x"].min()]})

    clock_change(spark).selectExpr("timestamp_seconds(x) AS at", "x").coalesce(1).write.parquet(
        str(tmp_path / "in")
    )
    with session_setting(spark, "spark.sql.session.timeZone", "Europe/Berlin"):
        hour = F.date_trunc("hour", "at").alias("hour")
        reader = spark.readStream.schema("at timestamp, x bigint")
        frame = reader.parquet(str(tmp_path / "in"))
        made = stream(frame, hour, 3, checkpoint=str(tmp_path / "ck")).apply(
            sizes, "rows long, first double"
        )
        made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
        rows = spark.read.parquet(str(tmp_path / "in"))
        expected = rows.groupBy(hour).applyInPandas(sizes, "rows long, first double")
        found = spark.read.parquet(str(tmp_path / "out"))
        assert sorted_rows(found) == sorted_rows(expected)
    assert sorted(row["rows"] for row in found.collect()) == [5, 10, 40, 80]


def test_a_restart_with_another_expression_is_refused(begin: Callable[..., Stream]) -> None:
    def made(key: Any = "user", **aggregates: Any) -> Any:
        asked = {"time": "ts", "window": "10 seconds", "watermark": "5 seconds"}
        return begin(key).aggregate(**asked, **aggregates)

    def start(made: Any) -> None:
        made.start(function=count_rows, trigger=NOW).awaitTermination()

    start(made(v=F.sum("price")))
    with pytest.raises(CorruptState, match=r"aggregates.*sum\(price\).*sum\(\(price \+ 1\)\)"):
        start(made(v=F.sum(F.col("price") + 1)))
    with pytest.raises(CorruptState, match="keys"):
        start(made(F.upper("user").alias("user"), v=F.sum("price")))
    start(made(v=F.sum("price")))


def test_the_watermark_may_change_between_two_starts(
    begin: Callable[..., Stream], tmp_path: Path
) -> None:
    for delay in ("5 seconds", "40 seconds", "1 second"):
        made = windowed(begin(), watermark=delay)
        made.start(function=count_rows, trigger=NOW).awaitTermination()
    assert [event["batch"] for event in events(tmp_path)] == [0, 1, 2, 3]


def test_append_asks_for_a_watermark_and_takes_sparks(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    def made(frame: DataFrame, place: str, **options: Any) -> Any:
        return stream(frame, "user", 3, checkpoint=str(tmp_path / place)).aggregate(
            time="ts", window="10 seconds", n=F.count("*"), **options
        )

    frame = read_stream(spark, files[0].parent)
    with pytest.raises(InvalidArgument, match="give watermark='30 seconds'"):
        made(frame, "none").start(memory="unused", trigger=NOW)
    made(frame, "given", watermark="12 seconds").start(
        memory="given", trigger=NOW
    ).awaitTermination()
    upstream = frame.withWatermark("ts", "12 seconds")
    made(upstream, "upstream").start(memory="upstream", trigger=NOW).awaitTermination()
    assert sorted_rows(spark.table("upstream")) == sorted_rows(spark.table("given"))
    assert spark.table("given").count() > 20
    everything = made(frame, "all")
    everything.start(memory="everything", output_mode="update", trigger=NOW).awaitTermination()
    assert all(event["late_rows"] == 0 for event in EventLog(tmp_path / "all").events())


def test_of_two_inputs_the_slower_sets_the_watermark(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    ahead = tmp_path / "ahead"
    ahead.mkdir()
    later = whole(spark, files).withColumn("ts", F.expr("ts + INTERVAL 1 HOUR"))
    later.coalesce(1).write.parquet(str(ahead / "in"))
    slow = read_stream(spark, files[0].parent).withWatermark("ts", "12 seconds")
    fast = (
        spark.readStream.schema(SCHEMA).parquet(str(ahead / "in")).withWatermark("ts", "1 second")
    )
    made = stream(slow.union(fast), "user", 3, checkpoint=str(tmp_path / "ck")).aggregate(
        time="ts", window="10 seconds", n=F.count("*")
    )
    made.start(memory="two_inputs", trigger=NOW).awaitTermination()
    found = events(tmp_path)
    # The input that is an hour ahead must not make the other one's rows late.
    assert sum(event["late_rows"] for event in found) < 100
    assert max(str(event["watermark"]) for event in found) < "2023-11-14T22:40"


def test_versions_of_a_window_can_be_told_apart(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    made = stream(
        read_stream(spark, files[0].parent), "user", 3, checkpoint=str(tmp_path / "ck")
    ).aggregate(time="ts", window="1 hour", n=F.count("*"))
    out = str(tmp_path / "out")
    with pytest.raises(InvalidArgument, match="give batch_column='batch'"):
        made.start(out, output_mode="update", trigger=NOW)
    with pytest.raises(InvalidArgument, match="no column of the results has"):
        made.start(out, output_mode="update", batch_column="n", trigger=NOW)
    made.start(out, output_mode="update", batch_column="batch", trigger=NOW).awaitTermination()
    versions = spark.read.parquet(out)
    newest = versions.groupBy("window", "user").agg(F.max_by("n", "batch").alias("n"))
    expected = (
        whole(spark, files)
        .where("ts IS NOT NULL")
        .groupBy(F.window("ts", "1 hour").alias("window"), "user")
        .agg(F.count("*").alias("n"))
    )
    assert sorted_rows(newest) == sorted_rows(expected)
    assert versions.count() > newest.count()


def test_the_log_has_no_loads_of_lanes_that_had_no_rows(
    begin: Callable[..., Stream], tmp_path: Path
) -> None:
    windowed(begin(layout="source")).start(function=count_rows, trigger=NOW).awaitTermination()
    assert all(event["loads"] == [] for event in events(tmp_path))
    assert all(event["max_over_mean"] is None for event in events(tmp_path))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"partitioner": "pkg"}, {"partitioner": "pkg", "lanes": 8}, id="more lanes"),
        pytest.param({"partitioner": "cg", "lanes": 8}, {"partitioner": "cg"}, id="fewer lanes"),
        pytest.param({"partitioner": "dalton"}, {"partitioner": "pkg"}, id="dalton, then pkg"),
        pytest.param({"partitioner": "pkg"}, {"partitioner": "cg"}, id="pkg, then cg"),
        pytest.param({"partitioner": "dalton"}, {"partitioner": "trim"}, id="router, then planner"),
        pytest.param(
            {"partitioner": "dalton"},
            {"partitioner": "dalton", "parameters": {"heat": 0.5}},
            id="another parameter",
        ),
    ],
)
def test_lanes_and_routers_may_change_between_two_starts(
    first: dict[str, Any], second: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    from tests.spark.stream.inputs import write_files

    def ran(options: dict[str, Any]) -> None:
        frame = read_stream(spark, tmp_path / "in")
        made = stream(
            frame, "user", **{"lanes": 3, "checkpoint": str(tmp_path / "ck"), **options}
        ).for_each_batch(count_rows)
        made.start(trigger=NOW).awaitTermination()

    write_files(tmp_path / "in", 2)
    ran(first)
    write_files(tmp_path / "in", 4)
    ran(second)
    found = events(tmp_path)
    assert [event["map_tasks"] for event in found] == [
        *[first.get("lanes", 3)] * 2,
        *[second.get("lanes", 3)] * 2,
    ]
    assert all(sum(event["loads"]) == event["rows"] for event in found)
    assert sum(load > 0 for load in found[-1]["loads"]) > len(found[-1]["loads"]) // 2
    if second["partitioner"] == "trim":
        assert found[2]["reason"].startswith("a plan follows routers")
        assert not found[3]["reason"].startswith("a plan follows routers")
        assert found[2]["changed"]
        assert found[2]["plan_version"] == found[1]["plan_version"] + 1
        assert [event["plan"] is None for event in found] == [True, True, False, False]
    else:
        assert found[2]["reason"].startswith("routers start anew")
        assert found[3]["reason"].startswith("routers go on")


def test_a_batch_with_other_content_than_the_one_that_is_done_is_refused(
    begin: Callable[..., Stream], tmp_path: Path
) -> None:
    made = begin().for_each_batch(count_rows)
    made.start(trigger=NOW).awaitTermination()
    done = tmp_path / "ck" / "state" / "3.json"
    record = states.parse(done.read_bytes())
    assert "logOffset" in record["sources"][0]
    # As if the rows of batch 3 had come from elsewhere, and Spark asked for it once more.
    done.write_text(states.dump({**record, "sources": ['{"logOffset":7}']}))
    commits = tmp_path / "ck" / "spark" / "commits"
    (commits / "3").unlink()
    (commits / ".3.crc").unlink(missing_ok=True)
    query = made.start(trigger=NOW)
    with pytest.raises(Exception, match=r"3\.json tells of batch 3 with the sources at"):
        query.awaitTermination()


def test_hot_keys_can_be_kept_out_of_files(begin: Callable[..., Stream], tmp_path: Path) -> None:
    for partitioner in ("trim", "prompt"):
        place = tmp_path / partitioner
        made = begin(names="hash", partitioner=partitioner, checkpoint=str(place))
        made.for_each_batch(count_rows).start(trigger=NOW).awaitTermination()
        log = list(EventLog(place).events())
        assert all(hot["key"].startswith("0x") for event in log for hot in event["hottest"])
        assert log[-1]["hottest"]
        for path in place.rglob("*.json*"):
            if "spark" not in path.relative_to(place).parts:
                assert not re.search(r"user\d", path.read_text())


def test_what_a_router_learned_between_is_lost_with_a_word(begin: Callable[..., Stream]) -> None:
    given = router("porc", lanes=3)
    begin(partitioner=given).for_each_batch(count_rows).start(trigger=NOW).awaitTermination()
    other = router("porc", lanes=3, seed=9)
    with pytest.raises(InvalidArgument, match="would be lost"):
        begin(partitioner=other).for_each_batch(count_rows).start(trigger=NOW)


def test_of_two_drivers_the_later_one_goes_on(begin: Callable[..., Stream], tmp_path: Path) -> None:
    reached: list[int] = []

    def work(rows: DataFrame, batch: Any) -> None:
        reached.append(rows.count())
        if batch.id == 1:
            # Another driver starts on this checkpoint while batch 1 runs.
            other = Checkpoint(tmp_path / "ck", {})
            other.take_over()

    query = begin().for_each_batch(work).start(trigger=NOW)
    with pytest.raises(Exception, match=r"took epoch 2 .* this driver stops and has lost nothing"):
        query.awaitTermination()
    assert len(reached) == 2
    assert [event["batch"] for event in events(tmp_path)] == [0]
    begin().for_each_batch(lambda rows, batch: rows.count()).start(trigger=NOW).awaitTermination()
    assert [event["batch"] for event in events(tmp_path)] == [0, 1, 2, 3]


def test_local_places_stay_local_whatever_the_default_file_system_is(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(f"file://{files[0].parent}")
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    before = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", "hdfs://nowhere.invalid:1")
    try:
        made = stream(frame, "user", 3, checkpoint=str(tmp_path / "ck")).aggregate(
            time="ts", window="10 seconds", watermark="5 seconds", n=F.count("*")
        )
        made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
        assert len(events(tmp_path)) == 4
        assert spark.read.parquet(f"file://{tmp_path / 'out'}").count() > 20
    finally:
        hadoop.set("fs.defaultFS", before)
