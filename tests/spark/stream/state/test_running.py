"""Running aggregates equal Spark's own, batch by batch, although keys move between lanes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.frames import session_setting
from tests.spark.stream.inputs import AGGREGATES, MERGED, NOW, read_stream, write_files
from tests.spark.stream.state.test_apply_with_state import Batches, shown
from trimtab.errors import InvalidArgument
from trimtab.spark import Stream, events, read_state, stream

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BOTH = {**AGGREGATES, **MERGED}


def test_they_are_sparks_batch_by_batch(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    found: Batches = {}
    natively: Batches = {}
    made = {name: make() for name, make in BOTH.items()}

    def keep(rows: DataFrame, number: int) -> None:
        natively[number] = shown(rows)

    frame = read_stream(spark, files[0].parent).groupBy("user")
    query = frame.agg(*(column.alias(name) for name, column in made.items())).writeStream
    query = query.foreachBatch(keep).outputMode("update").trigger(**NOW)
    query.option("checkpointLocation", str(tmp_path / "native")).start().awaitTermination()
    for lanes, count in ((3, 2), (2, 4)):
        write_files(tmp_path / "in", count)
        clicks = read_stream(spark, tmp_path / "in")
        stream(clicks, "user", lanes, checkpoint=str(tmp_path / "ck")).running(**made).start(
            function=lambda rows, batch: found.update({batch.id: shown(rows)}),
            output_mode="update",
            trigger=NOW,
        ).awaitTermination()
    assert found == natively
    lines = events(str(tmp_path / "ck"))
    assert sum(line["state"]["moved_keys"] for line in lines) > 0
    # A merge takes next to nothing: what a key weighs is the rows that Spark combines.
    assert {line["weighed_by"] for line in lines} == {"rows"}
    held = read_state(spark, str(tmp_path / "ck"))
    assert held.agg(F.sum("state.p0")).first()[0] == 1600  # type: ignore[index]


@pytest.mark.parametrize("moment", ["ts", "window(ts, '2 seconds') AS ts"])
def test_late_rows_of_a_key_with_the_watermark_are_dropped(
    spark: SparkSession, files: list[Path], tmp_path: Path, moment: str
) -> None:
    found: Batches = {}
    natively: Batches = {}
    frame = read_stream(spark, files[0].parent)
    frame = frame.selectExpr("user", "price", "date_trunc('second', ts) AS ts")
    frame = frame.withWatermark("ts", "6 seconds").selectExpr("user", "price", moment)
    query = (
        frame.groupBy("user", "ts")
        .agg(F.sum("price").alias("total"))
        .writeStream.foreachBatch(lambda rows, number: natively.update({number: shown(rows)}))
        .option("checkpointLocation", str(tmp_path / "native"))
    )
    query.outputMode("update").trigger(**NOW).start().awaitTermination()
    origin = stream(frame, ["user", "ts"], 3, checkpoint=str(tmp_path / "ck"))
    origin.running(total=F.sum("price")).start(
        function=lambda rows, batch: found.update({batch.id: shown(rows)}),
        output_mode="update",
        trigger=NOW,
    ).awaitTermination()
    assert found == {number: natively[number] for number in found}
    lines = events(str(tmp_path / "ck"))
    assert sum(line["late_rows"] for line in lines) > 0
    assert sum(line["state"]["timed_out"] for line in lines) > 0


def test_a_sum_that_does_not_fit_goes_round_where_sparks_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    found: list[int] = []
    for _ in range(2):
        row = spark.sql("SELECT 'ann' AS user, 9223372036854775807L AS price")
        row.write.mode("append").parquet(str(tmp_path / "in"))
    reader = spark.readStream.schema("user string, price long").option("maxFilesPerTrigger", 1)
    with session_setting(spark, "spark.sql.ansi.enabled", "false"):
        origin = stream(
            reader.parquet(str(tmp_path / "in")), "user", 1, checkpoint=str(tmp_path / "ck")
        )
        origin.running(total=F.sum("price")).start(
            function=lambda rows, batch: found.append(rows.first()["total"]),  # type: ignore[index]
            output_mode="update",
            trigger=NOW,
        ).awaitTermination()
    assert found == [2**63 - 1, -2]


def test_mistakes_are_said_at_the_call(begin: object) -> None:
    origin: Stream = begin()  # type: ignore[operator]
    with pytest.raises(InvalidArgument, match="names both"):
        origin.running(user=F.count("*"))
    with pytest.raises(InvalidArgument, match="output_mode='update'"):
        origin.running(n=F.count("*")).start(memory="nothing")
    with pytest.raises(InvalidArgument, match="cannot be merged"):
        origin.running(n=F.collect_list("price"))
    for text in ("min(struct(price))", "max(user COLLATE UTF8_LCASE)", "min(array(price))"):
        with pytest.raises(InvalidArgument, match="cannot be merged from batch to batch"):
            origin.running(n=text)
