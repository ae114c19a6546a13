"""Sessions equal those of Spark's `session_window`, batch by batch."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spark.frames import session_setting
from tests.spark.stream.inputs import NOW, in_order, read_stream, write_files
from tests.spark.stream.state.test_apply_with_state import Batches, shown
from trimtab.errors import InvalidArgument
from trimtab.spark import stream

pytestmark = [pytest.mark.spark, pytest.mark.slow]

AGGREGATES = {
    "n": F.count,
    "total": F.sum,
    "least": F.min,
    "mean": F.avg,
}


def test_they_are_sparks_batch_by_batch(spark: SparkSession, tmp_path: Path) -> None:
    natively: Batches = {}
    found: Batches = {}
    made = {name: make("price") for name, make in AGGREGATES.items()}
    # Whole seconds, so that rows come exactly a gap apart.
    rounded = F.expr("date_trunc('second', ts)").alias("ts")

    def timed(place: Path) -> object:
        frame = read_stream(spark, place).select("user", "price", rounded)
        return frame.withWatermark("ts", "5 seconds")

    # Both end after two files, and go on with two more.
    for lanes, count in ((3, 2), (2, 4)):
        write_files(tmp_path / "in", count)
        query = (
            timed(tmp_path / "in")
            .groupBy(F.session_window("ts", "2 seconds"), "user")
            .agg(*(column.alias(name) for name, column in made.items()))
            .writeStream.foreachBatch(lambda rows, number: natively.update({number: shown(rows)}))
            .option("checkpointLocation", str(tmp_path / "native"))
        )
        query.trigger(**NOW).start().awaitTermination()
        origin = stream(timed(tmp_path / "in"), "user", lanes, checkpoint=str(tmp_path / "ck"))
        origin.sessions(time="ts", gap="2 seconds", **made).start(
            function=lambda rows, batch: found.update({batch.id: shown(rows)}), trigger=NOW
        ).awaitTermination()
    assert found == natively
    assert sum(map(len, found.values())) > 50


def test_a_gap_of_days_follows_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    natively: Batches = {}
    found: Batches = {}
    files: list[Path] = []
    # 24 hours and 45 minutes apart, in a night of 25 hours; then rows that let the session end.
    with session_setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        for number, time in enumerate(("11-04 12:00", "11-05 11:45", "11-20 00:00")):
            rows = spark.sql(f"SELECT 'ann' AS user, TIMESTAMP'2023-{time}:00' AS ts")
            rows.write.mode("append").parquet(str(tmp_path / "in"))
            (new,) = (p for p in (tmp_path / "in").glob("*.parquet") if p not in files)
            in_order(new, number)
            files.append(new)
        reader = spark.readStream.schema("user string, ts timestamp")
        frame = reader.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        frame = frame.withWatermark("ts", "1 second")
        query = (
            frame.groupBy(F.session_window("ts", "1 day"), "user")
            .agg(F.count("*").alias("n"))
            .writeStream.foreachBatch(lambda rows, number: natively.update({number: shown(rows)}))
            .option("checkpointLocation", str(tmp_path / "native"))
        )
        query.trigger(**NOW).start().awaitTermination()
        origin = stream(frame, "user", 2, checkpoint=str(tmp_path / "ck"))
        origin.sessions(time="ts", gap="1 day", n=F.count("*")).start(
            function=lambda rows, batch: found.update({batch.id: shown(rows)}), trigger=NOW
        ).awaitTermination()
    assert found == natively
    assert [row for rows in found.values() for row in rows if "n=2" in row]


def test_mistakes_are_said_at_the_call(spark: SparkSession, begin: object) -> None:
    with pytest.raises(InvalidArgument, match="column with the watermark"):
        begin().sessions(time="ts", gap="1 minute", n=F.count("*"))  # type: ignore[operator]
