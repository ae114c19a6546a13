"""The frame on a receiver's log: every row once, block by block, and what is refused."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.receive.written_logs import rows_of, write_batch, write_log
from trimtab.errors import InvalidArgument, NotThere
from trimtab.receive import Log, Receiver
from trimtab.spark.source.received import logs_of, received, register_source

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = write_log(tmp_path_factory.mktemp("logs") / "log")
    for number in range(3):
        write_batch(place, number)
    return place


def run(frame: Any, place: Path) -> None:
    """Run all that is there into files, each with its partition and number."""
    rows = frame.selectExpr("*", "spark_partition_id() AS part")
    query = (
        rows.writeStream.format("parquet")
        .option("checkpointLocation", str(place / "ck"))
        .trigger(availableNow=True)
        .start(str(place / "out"))
    )
    query.awaitTermination()


def values(spark: SparkSession, place: Path) -> list[int]:
    return sorted(row.x for row in spark.read.parquet(str(place / "out")).select("x").collect())


@pytest.mark.smoke
def test_every_row_comes_once_and_what_is_committed_may_be_forgotten(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    run(received(spark, log, max_batches=2), tmp_path)
    batches = json.loads((tmp_path / "ck" / "offsets" / "0").read_text().splitlines()[2])
    assert batches == {"trimtab.log": {str(log): 1}}
    out = spark.read.parquet(str(tmp_path / "out"))
    assert {row.part for row in out.select("part").distinct().collect()} == {0, 1, 2, 3}
    # Spark says that a batch is done when it begins the next.
    assert [int(marker.name) for marker in (log / "committed").iterdir()] == [1]
    write_batch(log, 3)
    run(received(spark, log), tmp_path)
    wanted = [x for number in range(4) for x in rows_of(number)["x"].to_pylist()]
    assert values(spark, tmp_path) == sorted(wanted)
    assert max(int(marker.name) for marker in (log / "committed").iterdir()) == 2


def test_a_log_can_be_read_as_an_ordinary_frame(spark: SparkSession, tmp_path: Path) -> None:
    first, second = write_log(tmp_path / "a"), write_log(tmp_path / "b")
    register_source(spark)
    nothing = spark.read.format("trimtab").load(str(first))
    assert (nothing.columns, nothing.count()) == (["k", "x", "ts"], 0)
    wanted = [write_batch(place, 0, rows_of(n)) for n, place in enumerate((first, second))]
    both = spark.read.format("trimtab").option("logs", json.dumps([str(first), str(second)])).load()
    found = sorted(map(tuple, both.collect()))
    assert [x for _, x, _ in sorted(found, key=lambda row: row[1])] == [
        x for table in wanted for x in table["x"].to_pylist()
    ]
    times = both.selectExpr("unix_micros(min(ts)) AS first").collect()[0]["first"]
    assert times == wanted[0]["ts"].cast("int64")[0].as_py()


def test_values_of_every_type_come_as_they_were_offered(
    spark: SparkSession, tmp_path: Path
) -> None:
    values = {
        "k": (True, "boolean"),
        "b": (-7, "byte"),
        "s": (-300, "short"),
        "i": (70_000, "int"),
        "l": (1 << 60, "long"),
        "f": (0.5, "float"),
        "d": (0.1, "double"),
        "m": (Decimal("12.34"), "decimal(10,2)"),
        "t": ("straße", "string"),
        "y": (bytearray(b"\x00\xff"), "binary"),
        "e": (date(2024, 2, 29), "date"),
        "n": (datetime(2024, 2, 29, 12, 30), "timestamp_ntz"),
    }
    schema = ", ".join(f"{name} {kind}" for name, (_, kind) in values.items())
    log = Log.create(tmp_path / "log", schema=schema, key=["k", "m", "t"], blocks=2)
    with Receiver(log) as receiver:
        receiver.offer([{name: value for name, (value, _) in values.items()}, {"k": False}])
        receiver.flush()
    register_source(spark)
    frame = spark.read.format("trimtab").load(str(log.path))
    nothing, row = sorted(frame.collect(), key=lambda found: found["k"])
    assert row.asDict() == {name: value for name, (value, _) in values.items()}
    assert nothing.asDict() == {**dict.fromkeys(values), "k": False}


def test_a_block_that_was_altered_ends_the_query_and_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = write_log(tmp_path / "log")
    write_batch(log, 0)
    block = sorted((log / "batches" / f"{0:020d}").iterdir())[2]
    block.write_bytes(block.read_bytes()[:-1] + b"?")
    with pytest.raises(StreamingQueryException, match=block.name):
        run(received(spark, log), tmp_path)


def test_what_is_no_log_is_refused_at_the_call(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    with pytest.raises(NotThere, match="nowhere holds no log"):
        received(spark, tmp_path / "nowhere")
    (tmp_path / "foreign").mkdir()
    with pytest.raises(NotThere, match="foreign holds no log"):
        received(spark, tmp_path / "foreign")
    other = write_log(tmp_path / "other", "k string, y double")
    with pytest.raises(InvalidArgument, match="must agree in both"):
        received(spark, [log, other])
    with pytest.raises(InvalidArgument, match="max_batches must be a whole number >= 1"):
        received(spark, log, max_batches=0)
    with pytest.raises(InvalidArgument, match="directory of a log or a list of them; got 7"):
        received(spark, [7])  # type: ignore[list-item]
    with pytest.raises(InvalidArgument, match="got none"):
        received(spark, [])


def test_only_the_frame_itself_is_known_to_be_the_log(spark: SparkSession, log: Path) -> None:
    frame = received(spark, log)
    assert logs_of(frame) == (str(log),)
    assert logs_of(frame.where("x > 0")) == ()
