"""Partial results in a checkpoint: all of what was written is read, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trimtab.errors import CorruptState
from trimtab.journal.checkpoint import Checkpoint
from trimtab.spark.stream.pieces import Pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def spark_partitions(frame: DataFrame) -> int:
    return frame.selectExpr("spark_partition_id() AS p").distinct().count()


def test_what_was_written_is_read_and_what_is_not_whole_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = Checkpoint(tmp_path / "ck", {})
    place.open()
    place.take_over()
    rows = spark.range(100).repartition(2)
    written = Pieces(place, {}, {})
    written.write(rows, "0000000001")
    written.write(rows, "0000000002")
    written.write(rows, "0000000003")
    folders = written.kept({"0000000001", "0000000002"})
    assert folders == {
        "0000000001": "panes/0000000001-1",
        "0000000002": "panes/0000000002-1",
    }
    # As the next batch has it, after a restart.
    session = spark.newSession()
    session.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    pieces = Pieces(Checkpoint(tmp_path / "ck", {}), folders, {})
    frame = pieces.read(session, list(folders), rows.schema)
    assert frame.count() == 200
    # Two files, which Spark would read in two tasks.
    together = pieces.read_together(session, "0000000001", rows.schema)
    assert (together.count(), spark_partitions(together)) == (100, 1)
    lost = next((tmp_path / "ck" / folders["0000000002"]).glob("*.parquet"))
    lost.unlink()
    with pytest.raises(Exception, match=r"(?i)not.?exist|not.?found"):
        # It was whole when it was looked at; that it no longer is, is noticed all the same.
        frame.collect()
    with pytest.raises(CorruptState, match=f"{lost.name} is missing"):
        pieces.read(session, list(folders), rows.schema)
    assert pieces.read(session, ["0000000001"], rows.schema).count() == 100
    with pytest.raises(CorruptState, match="knows no piece '0000000003'"):
        pieces.read(session, ["0000000003"], rows.schema)
