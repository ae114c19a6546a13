"""Duplicates are dropped as Spark drops them, for ever and within a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.stream.inputs import NOW, read_stream
from tests.spark.stream.state.test_apply_with_state import Batches, shown
from trimtab.errors import InvalidArgument
from trimtab.spark import events, stream

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Seen = dict[int, list[str]]


def users(rows: DataFrame) -> list[str]:
    return sorted(str(row["user"]) for row in rows.select("user").collect())


@pytest.mark.parametrize("within", [pytest.param(None, marks=pytest.mark.exhaustive), "6 seconds"])
def test_the_same_keys_pass_as_in_spark(
    spark: SparkSession, files: list[Path], tmp_path: Path, within: str | None
) -> None:
    frame = read_stream(spark, files[0].parent)
    natively: Seen = {}
    found: Seen = {}
    if within is None:
        single = frame.dropDuplicates(["user"])
    else:
        frame = frame.withWatermark("ts", within)
        single = frame.dropDuplicatesWithinWatermark(["user"])
    query = single.writeStream.foreachBatch(
        lambda rows, number: natively.update({number: users(rows)})
    )
    query.option("checkpointLocation", str(tmp_path / "native")).trigger(
        **NOW
    ).start().awaitTermination()
    origin = stream(frame, "user", 3, checkpoint=str(tmp_path / "ck"), least_gain=0.0)
    origin.drop_duplicates(within=within).start(
        function=lambda rows, batch: found.update({batch.id: users(rows)}), trigger=NOW
    ).awaitTermination()
    # Which row of a key is the first is not settled, and so when it is forgotten is not, either.
    assert found[0] == natively[0]
    if within is None:
        assert found == {number: natively[number] for number in found}
    else:
        assert sum(line["state"]["timed_out"] for line in events(str(tmp_path / "ck"))) > 0
        assert sum(map(len, found.values())) > len(set().union(*found.values()))


@pytest.mark.parametrize("moment", ["ts", "window(ts, '2 seconds') AS ts"])
def test_a_key_with_the_watermark_is_forgotten_when_it_has_passed_and_late_rows_are_dropped(
    spark: SparkSession, files: list[Path], tmp_path: Path, moment: str
) -> None:
    frame = read_stream(spark, files[0].parent).selectExpr("user", "date_trunc('second', ts) AS ts")
    frame = frame.withWatermark("ts", "6 seconds").selectExpr("user", moment)
    natively: Batches = {}
    found: Batches = {}
    query = frame.dropDuplicates(["user", "ts"]).writeStream.foreachBatch(
        lambda rows, number: natively.update({number: shown(rows)})
    )
    query.option("checkpointLocation", str(tmp_path / "native")).trigger(
        **NOW
    ).start().awaitTermination()
    origin = stream(frame, ["user", "ts"], 3, checkpoint=str(tmp_path / "ck"))
    origin.drop_duplicates().start(
        function=lambda rows, batch: found.update({batch.id: shown(rows)}), trigger=NOW
    ).awaitTermination()
    assert found == {number: natively[number] for number in found}
    lines = events(str(tmp_path / "ck"))
    assert sum(line["late_rows"] for line in lines) > 0
    assert sum(line["state"]["timed_out"] for line in lines) > 0


def test_a_time_needs_a_watermark(begin: object) -> None:
    with pytest.raises(InvalidArgument, match="within needs a watermark"):
        begin().drop_duplicates(within="1 minute")  # type: ignore[operator]
