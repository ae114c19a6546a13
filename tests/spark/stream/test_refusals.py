"""What a stream refuses: mistakes at the call, and files that are damaged or somebody else's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spark.stream.inputs import NOW, SCHEMA, read_stream, whole, windowed
from trimtab import planner
from trimtab.errors import (
    CorruptState,
    InvalidArgument,
    SplitKeysRefused,
    StoreFailed,
    UnknownName,
)
from trimtab.spark.stream.api import Stream, stream

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        pytest.param(lambda b: b(key="nobody"), InvalidArgument, "no column 'nobody'", id="key"),
        pytest.param(lambda b: b(lanes=0), InvalidArgument, "lanes must be", id="lanes"),
        pytest.param(lambda b: b(partitioner="magic"), UnknownName, "known partit", id="name"),
        pytest.param(
            lambda b: b(partitioner=5),
            InvalidArgument,
            "a name, a planner, a router or a plan",
            id="kind",
        ),
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
        pytest.param(lambda b: b(checkpoint="hdfs:ck"), InvalidArgument, "no slash", id="no slash"),
        pytest.param(lambda b: b(checkpoint="s3a:/b"), InvalidArgument, "bucket", id="no bucket"),
        pytest.param(lambda b: b(checkpoint="none:/b"), StoreFailed, "No FileSystem", id="scheme"),
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
            lambda b: windowed(b(), n=F.countDistinct("price", "weight")),
            InvalidArgument,
            "none of them DISTINCT",
            id="distinct of several columns",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.sum_distinct("price")),
            InvalidArgument,
            "none of them DISTINCT",
            id="distinct sum",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.stddev(F.col("price") + 1)),
            InvalidArgument,
            "of plain columns also approx_count_distinct",
            id="stddev of an expression",
        ),
        pytest.param(
            lambda b: windowed(b(), n=F.percentile("price", 0.5)),
            InvalidArgument,
            "cannot be merged",
            id="an exact percentile",
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


@pytest.fixture(scope="module")
def finished(
    spark: SparkSession, files: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the checkpoint of a query that has run to its end; tests damage copies of it."""
    place = tmp_path_factory.mktemp("finished") / "ck"
    made = stream(read_stream(spark, files[0].parent), "user", 3, checkpoint=str(place))
    made.for_each_batch(lambda rows, batch: rows.count()).start(trigger=NOW).awaitTermination()
    return place


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("meta.json", "meta.json", id="the query's own file"),
        pytest.param("events/000000000003.json", "000000000003.json", id="the event log"),
        pytest.param("state/3.json", "3.json", id="the last state"),
    ],
)
def test_damaged_files_are_refused_by_name_before_anything_runs(
    name: str, words: str, begin: Callable[..., Stream], finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path / "ck")
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
