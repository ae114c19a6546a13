"""Sessions equal those of Spark's `session_window`, batch by batch."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spark.stream.inputs import NOW, read_stream, write_files
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


def test_mistakes_are_said_at_the_call(spark: SparkSession, begin: object) -> None:
    with pytest.raises(InvalidArgument, match="column with the watermark"):
        begin().sessions(time="ts", gap="1 minute", n=F.count("*"))  # type: ignore[operator]
