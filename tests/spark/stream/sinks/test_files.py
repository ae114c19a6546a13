"""A directory of results: what belongs to a batch, and nothing else, is in it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.spark import Batch, ParquetSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def batch(number: int) -> Batch:
    return Batch(number, 2, None, "hash", None, None)


def opened(spark: SparkSession, place: Path) -> ParquetSink:
    sink = ParquetSink(str(place))
    sink.prepare(spark.range(0).schema, spark)
    sink.open("this query")
    return sink


def test_a_batch_is_seen_once_whatever_interrupted_attempts_have_left(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "a b%20"
    sink = opened(spark, out)
    sink.write(spark.range(5), batch(0), spark)
    # Of a job that was killed: one task was done with its work, and some files have their place.
    (file,) = [path for path in out.glob("*.parquet") if pq.read_metadata(path).num_rows][:1]
    stale = out / "_temporary" / "0" / "task_202601010000_0000_m_000000"
    stale.mkdir(parents=True)
    for place in (stale, out):
        (place / "part-batch-0000000001-0123-00000.parquet").write_bytes(file.read_bytes())
    again = opened(spark, out)
    assert (again.has(0), again.has(1)) == (True, False)
    again.write(spark.range(5, 12), batch(1), spark)
    again.write(None, batch(2), spark)
    # What is there already is not written again.
    again.write(spark.range(99), batch(1), spark)
    shown = spark.read.parquet(str(out))
    assert sorted(row["id"] for row in shown.collect()) == list(range(12))
    # Those who do not know the log see the same.
    assert pq.read_table(out).num_rows == 12
    assert not (out / "_temporary").exists()
    with pytest.raises(CorruptState, match="ends with batch 2, but batch 4 is to be written"):
        again.write(spark.range(1), batch(4), spark)


def test_results_can_be_read_by_whom_the_owner_lets(spark: SparkSession, tmp_path: Path) -> None:
    opened(spark, tmp_path / "out").write(None, batch(0), spark)
    usual = tmp_path / "usual"
    usual.mkdir()
    for made in ("out", "out/_spark_metadata"):
        assert stat.S_IMODE((tmp_path / made).stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert spark.read.parquet(str(tmp_path / "out")).schema == spark.range(0).schema


def test_a_place_that_is_not_this_querys_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    opened(spark, tmp_path / "mine")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.tex").touch()
    for place, words in (("mine", "of another query"), ("theirs", r"holds 'thesis\.tex'")):
        sink = ParquetSink(str(tmp_path / place))
        sink.prepare(spark.range(0).schema, spark)
        with pytest.raises(InvalidArgument, match=words):
            sink.open("another query")
    with pytest.raises(InvalidArgument, match="no slash after the colon"):
        ParquetSink("hdfs:out")
