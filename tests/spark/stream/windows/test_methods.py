"""What users ask of windows: the top keys, complete results, windows that start at odd times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.stream.inputs import NOW, in_order, read_stream, sorted_rows, whole, write_files
from trimtab.errors import InvalidArgument
from trimtab.spark.stream.api import Stream, stream

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("input") / "in", 3)


def begun(spark: SparkSession, files: list[Path], scratch: Path) -> Stream:
    return stream(
        read_stream(spark, files[0].parent), "user", lanes=2, checkpoint=str(scratch / "ck")
    )


def by_window(spark: SparkSession, files: list[Path], **options: Any) -> DataFrame:
    rows = whole(spark, files).where("ts IS NOT NULL")
    return rows.groupBy(F.window("ts", **options), "user").agg(F.count("*").alias("n"))


def test_complete_results_are_those_of_a_batch_in_windows_that_start_late(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    made = begun(spark, files, tmp_path).aggregate(
        time="ts", window="9 seconds", slide="6 seconds", start_time="4 seconds", n="count(*)"
    )
    query = made.start(
        str(tmp_path / "out"), output_mode="complete", batch_column="batch", trigger=NOW
    )
    query.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).where("batch = 2").drop("batch")
    expected = by_window(
        spark, files, windowDuration="9 seconds", slideDuration="6 seconds", startTime="4 seconds"
    )
    assert sorted_rows(found) == sorted_rows(expected)


def test_a_view_shows_complete_results_once_unless_their_batches_are_named(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    def shown(place: Path, **options: Any) -> DataFrame:
        made = begun(spark, files, place).aggregate(time="ts", window="9 seconds", n="count(*)")
        query = made.start(memory="whole", output_mode="complete", trigger=NOW, **options)
        query.awaitTermination()
        return spark.table("whole")

    expected = sorted_rows(by_window(spark, files, windowDuration="9 seconds"))
    assert sorted_rows(shown(tmp_path / "a")) == expected
    named = shown(tmp_path / "b", batch_column="batch")
    assert named.select("batch").distinct().count() == 3
    assert sorted_rows(named.where("batch = 2").drop("batch")) == expected


def test_the_top_keys_of_every_window_are_exact(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    top = begun(spark, files, tmp_path).top(3, time="ts", window="20 seconds")
    query = top.start(
        str(tmp_path / "out"), output_mode="complete", batch_column="batch", trigger=NOW
    )
    query.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).where("batch = 2").drop("batch")
    rank = "row_number() OVER (PARTITION BY window ORDER BY n DESC, user) AS rank"
    expected = by_window(spark, files, windowDuration="20 seconds").selectExpr("*", rank)
    expected = expected.where("rank <= 3").select("window", "rank", "user", "n")
    assert sorted_rows(found) == sorted_rows(expected)


def test_rows_that_a_filter_leaves_out_move_sparks_watermark_first(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "in"
    place.mkdir()
    # The row of the far future is left out, but Spark has seen it: what comes two batches after it,
    # of batches without a pause between them, is late, and its window has ended.
    for number, seconds in enumerate(([1, 2, 100], [3], [4])):
        times = pa.array([1_000_000 * s for s in seconds], pa.timestamp("us", "UTC"))
        rows = pa.table({"user": ["ann"] * len(seconds), "ts": times})
        pq.write_table(rows, place / f"{number}.parquet")
        in_order(place / f"{number}.parquet", number)
    timed = read_stream(spark, place).withWatermark("ts", "5 seconds")
    made = stream(
        timed.where("unix_seconds(ts) < 90"), "user", 2, checkpoint=str(tmp_path / "checkpoint")
    )
    counted = made.aggregate(time="ts", window="10 seconds", n="count(*)")
    counted.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    assert [row["n"] for row in spark.read.parquet(str(tmp_path / "out")).collect()] == [3]


def test_mistakes_are_told_at_the_call(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    made = begun(spark, files, tmp_path)
    with pytest.raises(InvalidArgument, match=r"86400000000 / 1000 = 86,400,000 open panes"):
        made.top(3, time="ts", window="1 day", slide="1 millisecond")
    with pytest.raises(InvalidArgument, match="start_time must be shorter than the slide"):
        made.top(3, time="ts", window="1 minute", start_time="1 minute")
    with pytest.raises(InvalidArgument, match="k must be"):
        made.top(0, time="ts", window="1 minute")
    with pytest.raises(InvalidArgument, match="other than 'rank'"):
        made.top(1, time="ts", window="1 minute", name="rank")
    with pytest.raises(InvalidArgument, match="other than 'rank'"):
        made.top(1, time="ts", window="1 minute", name="RANK")
    for names in (
        {"User": "count(*)"},
        {"WINDOW": "count(*)"},
        {"n": "count(*)", "N": "sum(price)"},
    ):
        with pytest.raises(InvalidArgument, match="names two output columns, in any case"):
            made.aggregate(time="ts", window="1 minute", **names)
    counting = made.aggregate(time="ts", window="1 minute", watermark="1 minute", n="count(*)")
    with pytest.raises(InvalidArgument, match="batch_column must be a name that no column"):
        counting.start(str(tmp_path / "out"), batch_column="N", trigger=NOW)
    with pytest.raises(InvalidArgument, match="use output_mode='append'"):
        made.top(1, time="ts", window="1 minute").start(memory="top", output_mode="update")
    counted = made.aggregate(time="ts", window="1 minute", watermark="1 minute", n="count(*)")
    with pytest.raises(InvalidArgument, match="a watermark lets windows go"):
        counted.start(memory="counted", output_mode="complete")
