"""Streams on Spark Connect, where a process beside the server runs each batch."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.conftest import CONNECT
from tests.spark.stream.inputs import SCHEMA, read_stream, write_files
from trimtab.errors import InvalidArgument
from trimtab.spark.stream.api import Stream, events, stream
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.lanes_told import UNTIMED

pytestmark = [
    pytest.mark.spark,
    pytest.mark.both,
    pytest.mark.skipif(not CONNECT, reason="other suites have the same on Spark Classic"),
]

NOW = {"availableNow": True}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("input") / "in", 3)


def begin(spark: SparkSession, files: list[Path], place: Path, partitioner: str) -> Stream:
    frame = read_stream(spark, files[0].parent)
    return stream(frame, "user", 3, partitioner=partitioner, checkpoint=str(place / "ck"))


@pytest.mark.smoke
def test_windows_come_to_what_spark_makes_of_all_rows(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    made = begin(spark, files, tmp_path, "trim").aggregate(
        time="ts", window="12 seconds", slide="4 seconds", watermark="1 hour", n=F.count("*")
    )
    query = made.start(
        str(tmp_path / "out"), output_mode="update", batch_column="batch", trigger=NOW
    )
    query.awaitTermination()
    # A window is given again by every batch that adds to it: the last figure is the highest.
    keys = ("window", "user")
    ours = spark.read.parquet(str(tmp_path / "out")).groupBy(*keys).agg(F.max("n").alias("n"))
    rows = spark.read.schema(SCHEMA).parquet(*map(str, files)).where("ts IS NOT NULL")
    window = F.window("ts", "12 seconds", "4 seconds")
    expected = rows.groupBy(window.alias("window"), "user").agg(F.count("*").alias("n"))
    assert sorted(map(repr, ours.collect())) == sorted(map(repr, expected.collect()))


@pytest.mark.parametrize(
    "partitioner", ["trim", "prompt", pytest.param("dalton", marks=pytest.mark.smoke)]
)
def test_a_function_gets_every_row(
    spark: SparkSession, files: list[Path], tmp_path: Path, partitioner: str
) -> None:
    place = str(tmp_path / "out")

    def keep(rows: object, batch: Batch) -> None:
        rows.write.mode("overwrite").parquet(f"{place}/{batch.id}")  # type: ignore[attr-defined]

    made = begin(spark, files, tmp_path, partitioner).for_each_batch(keep)
    made.start(trigger=NOW).awaitTermination()
    assert {event["untimed"] for event in events(str(tmp_path / "ck"))} == {UNTIMED}
    found = spark.read.option("recursiveFileLookup", "true").parquet(place)
    given = spark.read.schema(SCHEMA).parquet(*map(str, files))
    assert sorted(map(repr, found.collect())) == sorted(map(repr, given.collect()))


@pytest.mark.smoke
def test_a_function_of_each_key_is_applied_once(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    def count(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"user": [rows["user"].iloc[0]], "n": [len(rows)]})

    made = begin(spark, files, tmp_path, "trim").apply(count, "user string, n long")
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    for event in events(str(tmp_path / "ck")):
        assert any(event["lane_seconds"])
        assert "untimed" not in event
    found = spark.read.parquet(str(tmp_path / "out")).groupBy("user").agg(F.sum("n").alias("n"))
    given = spark.read.schema(SCHEMA).parquet(*map(str, files)).groupBy("user")
    expected = given.agg(F.count("*").alias("n"))
    assert sorted(map(repr, found.collect())) == sorted(map(repr, expected.collect()))


def test_a_query_that_ends_shows_the_sessions_that_its_last_rows_have_ended(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    timed = read_stream(spark, files[0].parent).withWatermark("ts", "1 second")
    origin = stream(timed, "user", 3, checkpoint=str(tmp_path / "ck"))
    made = origin.sessions(time="ts", gap="1 second", n=F.count("*"))
    made.start(str(tmp_path / "out"), trigger=NOW).awaitTermination()
    lines = events(str(tmp_path / "ck"))
    assert [line["rows"] > 0 for line in lines] == [True, True, True, False]
    assert lines[-1]["state"]["timed_out"] > 0
    found = spark.read.parquet(str(tmp_path / "out")).agg(F.sum("n")).first()
    assert found is not None
    assert found[0] > 600


def test_a_place_that_only_hadoop_opens_is_refused(spark: SparkSession, files: list[Path]) -> None:
    with pytest.raises(InvalidArgument, match="inside of a Spark Classic session"):
        stream(read_stream(spark, files[0].parent), "user", 3, checkpoint="hdfs:/ck")
