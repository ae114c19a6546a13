"""Partitioned writes: the same rows, several files where it is hot, one elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from tests.spark.frames import rows
from trimtab.errors import InvalidArgument, TrimtabError
from trimtab.spark.batch.write import write_balanced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

LANES = 6


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    day = F.when(F.col("id") % 2 == 0, F.lit("mon")).when(F.col("id") % 31 == 0, F.lit(None))
    day = day.otherwise(F.concat(F.lit("d"), (F.col("id") % 40).cast("string")))
    size = F.when(F.col("id") % 40 == 1, F.repeat(F.lit("x"), F.lit(2000))).otherwise(F.lit("x"))
    return spark.range(0, 4000, numPartitions=4).select(day.alias("day"), "id", size.alias("v"))


def files(path: Path) -> dict[str, int]:
    return {part.name: len(list(part.glob("*.parquet"))) for part in path.glob("day=*")}


@pytest.mark.smoke
def test_a_hot_directory_gets_several_files_and_every_other_one(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    decided = write_balanced(events, str(tmp_path / "out"), "day", lanes=LANES)
    written = files(tmp_path / "out")
    # Half of the rows are Monday's: three lanes' worth.
    assert written.pop("day=mon") == 3
    split = sum(count - 1 for count in written.values())
    assert split <= LANES
    assert sum(count == 1 for count in written.values()) >= len(written) - LANES
    read = spark.read.parquet(str(tmp_path / "out")).select(*events.columns)
    assert rows(read) == rows(events)
    assert "partitioner 'trim' on 6 lanes" in decided.explain("write", shuffles=1)


def test_bytes_can_decide_what_is_hot(events: DataFrame, tmp_path: Path) -> None:
    write_balanced(events, str(tmp_path / "out"), "day", lanes=LANES, unit="bytes")
    written = files(tmp_path / "out")
    assert written["day=d1"] > 1
    assert written["day=mon"] == 1


def test_mode_format_and_options_are_sparks(
    spark: SparkSession, events: DataFrame, tmp_path: Path
) -> None:
    path = str(tmp_path / "out")
    few = events.where("id < 100")
    write_balanced(few, path, ["day"], lanes=2, format="json", compression="gzip")
    write_balanced(few, path, ["day"], lanes=2, format="json", mode="append", partitioner="hash")
    assert spark.read.schema("id long, v string, day string").json(path).count() == 200
    assert list((tmp_path / "out").glob("day=mon/*.json.gz"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"partition_by": "nope"}, "partition_by must name columns"),
        ({"partition_by": ["day", "id", "v"]}, "names every column"),
        ({"partition_by": "day", "lanes": 0}, "lanes must be"),
        ({"partition_by": "day", "unit": "seconds"}, "unit must be"),
        ({"partition_by": "day", "partitioner": "nope"}, "unknown partitioner"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    events: DataFrame, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TrimtabError, match=message) as failure:
        write_balanced(events, str(tmp_path / "out"), **arguments)
    assert isinstance(failure.value, InvalidArgument | ValueError)
    assert not (tmp_path / "out").exists()
