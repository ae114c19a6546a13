"""The same function gives the same rows as in Spark's `applyInPandasWithState`, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupState

from tests.spark.stream.inputs import NOW, SCHEMA, in_order, read_stream, table, write_files
from trimtab.errors import InvalidArgument
from trimtab.spark import events, read_state, stream

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# Spark itself fails on arrays in states: the highest prices are a text.
STATE = "n long, most string, last timestamp, amount decimal(20,2)"
OUTPUT = f"user string, price long, {STATE}, due boolean"


def followed(
    key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Count, sum, keep the last time and the highest prices; end what has long been quiet."""
    user, price = key
    if state.hasTimedOut:
        n, most, last, amount = state.get
        state.remove()
        due = True
    else:
        n, most, last, amount = state.get if state.exists else (0, "", None, None)
        for frame in rows:
            n += len(frame)
            prices = [*map(int, most.split()), *frame["weight"].astype(int)]
            most = " ".join(map(str, sorted(prices, reverse=True)[:3]))
            times = [time for time in frame["ts"] if not pd.isna(time)]
            last = max([*times, *([] if last is None else [pd.Timestamp(last)])], default=None)
            amount = sum(frame["amount"]) + (0 if amount is None else amount)
        last = None if last is None else last.to_pydatetime()
        state.update((n, most, last, amount))
        soonest = state.getCurrentWatermarkMs() + 1000
        if last is not None:
            state.setTimeoutTimestamp(max(soonest, int(last.timestamp() * 1000) + 15_000))
        due = False
    yield pd.DataFrame(
        {
            "user": [user],
            "price": pd.array([None if pd.isna(price) else int(price)], dtype="Int64"),
            "n": [n],
            "most": [most],
            "last": [last],
            "amount": [amount],
            "due": [due],
        }
    )


Batches = dict[int, list[str]]


def shown(rows: DataFrame) -> list[str]:
    return sorted(map(repr, rows.collect()))


@pytest.fixture(scope="module")
def timed(spark: SparkSession, files: list[Path]) -> DataFrame:
    frame = read_stream(spark, files[0].parent)
    # Two columns of keys, nulls in both: many keys, and some of one hash.
    keyed = frame.selectExpr("*", "if(price % 3 = 0, null, price % 3) AS p").drop("price")
    return keyed.withColumnRenamed("p", "price").withWatermark("ts", "5 seconds")


@pytest.fixture(scope="module")
def natively(
    spark: SparkSession, timed: DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> Batches:
    found: Batches = {}
    given = timed.groupBy("user", "price").applyInPandasWithState(
        followed, OUTPUT, STATE, "update", "EventTimeTimeout"
    )
    query = (
        given.writeStream.foreachBatch(lambda rows, number: found.update({number: shown(rows)}))
        .outputMode("update")
        .option("checkpointLocation", str(tmp_path_factory.mktemp("native")))
        .trigger(**NOW)
        .start()
    )
    query.awaitTermination()
    return found


def test_rows_timeouts_and_late_rows_are_sparks(
    spark: SparkSession, timed: DataFrame, natively: Batches, tmp_path: Path
) -> None:
    found: Batches = {}
    origin = stream(timed, ["user", "price"], 3, checkpoint=str(tmp_path / "ck"), least_gain=0.01)
    calls = origin.apply_with_state(followed, OUTPUT, STATE, timeout="EventTimeTimeout")

    def run() -> None:
        calls.start(
            function=lambda rows, batch: found.update({batch.id: shown(rows)}),
            output_mode="update",
            trigger=NOW,
        ).awaitTermination()

    run()
    assert any("due=True" in row for rows in found.values() for row in rows)
    # The last batch has no rows: it looks for what is due after the last of them, as Spark's does.
    assert found == natively
    assert natively[4]
    lines = events(str(tmp_path / "ck"))
    assert sum(line["late_rows"] for line in lines) > 0
    assert sum(line["state"]["timed_out"] for line in lines) > 0
    assert read_state(spark, str(tmp_path / "ck")).count() == lines[-1]["state"]["keys"]


def counted(
    key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    total = (state.get[0] if state.exists else 0) + sum(map(len, rows))
    state.update((total,))
    yield pd.DataFrame({"user": key, "n": [total]})


def totals(spark: SparkSession, place: Path) -> dict[str | None, int]:
    rows = spark.read.schema(SCHEMA).parquet(str(place)).groupBy("user").count().collect()
    return {row["user"]: row["count"] for row in rows}


def states(spark: SparkSession, checkpoint: Path, batch: int | None = None) -> dict[Any, Any]:
    rows = read_state(spark, str(checkpoint), batch).collect()
    assert len({row["key"]["user"] for row in rows}) == len(rows)
    return {row["key"]["user"]: row["state"][0] for row in rows}


def test_state_follows_its_keys_when_lanes_and_planner_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    place, checkpoint = tmp_path / "in", tmp_path / "ck"

    def run(files: int, lanes: int, schema: str = "n long", **options: Any) -> None:
        write_files(place, files)
        origin = stream(
            read_stream(spark, place), "user", lanes, checkpoint=str(checkpoint), **options
        )
        calls = origin.apply_with_state(counted, "user string, n long", schema)
        calls.start(
            str(tmp_path / "out"), output_mode="update", batch_column="b", trigger=NOW
        ).awaitTermination()
        assert states(spark, checkpoint) == totals(spark, place)

    run(2, 3)
    run(3, 5, partitioner="kip")
    before = states(spark, checkpoint)
    run(4, 2, budget=0.5)
    lines = events(str(checkpoint))
    assert [line["state"]["moved_keys"] > 0 for line in lines[2:]] == [True, True]
    assert lines[2]["reason"].startswith("change: the lanes go from 3 to 5")
    assert states(spark, checkpoint, batch=2) == before
    written = spark.read.parquet(str(tmp_path / "out")).orderBy("b").collect()
    assert {row["user"]: row["n"] for row in written} == totals(spark, place)


@pytest.mark.exhaustive
def test_state_follows_its_keys_when_the_autoscaler_changes_the_lanes(
    spark: SparkSession, tmp_path: Path
) -> None:
    place, checkpoint = tmp_path / "in", tmp_path / "ck"
    write_files(place, 3)
    options: dict[str, Any] = {"autoscale": {"batches": 1}, "checkpoint": str(checkpoint)}
    origin = stream(read_stream(spark, place), "user", 2, **options)
    calls = origin.apply_with_state(counted, "user string, n long", "n long")
    # No batch fits into a microsecond: the first one asks for more lanes.
    query = calls.start(
        function=lambda rows, batch: rows.count(), trigger={"processingTime": "1 microsecond"}
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    lines = events(str(checkpoint))
    assert [line["map_tasks"] for line in lines[:2]] == [2, 3]
    assert lines[1]["state"]["moved_keys"] > 0
    assert "change: the lanes go from 2 to 3" in lines[1]["reason"]
    assert states(spark, checkpoint) == totals(spark, place)


def broken(
    key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    if key[0] == "user1" and state.exists:
        raise ZeroDivisionError("no luck")
    return counted(key, rows, state)


def test_a_function_that_raises_names_its_key_and_leaves_the_state_as_it_was(
    spark: SparkSession, begin: Any, tmp_path: Path
) -> None:
    checkpoint, out = tmp_path / "ck", str(tmp_path / "out")

    def run(function: Any, schema: str = "n long") -> None:
        calls = begin().apply_with_state(function, "user string, n long", schema)
        calls.start(out, trigger=NOW).awaitTermination()

    with pytest.raises(StreamingQueryException, match=r"key \('user1',\): ZeroDivisionError"):
        run(broken)
    assert len(events(str(checkpoint))) == 1
    before = states(spark, checkpoint)
    assert sum(before.values()) == 400
    with pytest.raises(InvalidArgument, match="'n' was bigint and is now string"):
        run(counted, "n string")
    with pytest.raises(InvalidArgument, match="'n' is gone"):
        run(counted, "m long")
    assert states(spark, checkpoint) == before


def slow_for_some(
    key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    count = sum(map(len, rows))
    if key[0] in ("user4", "user5", "user7"):
        time.sleep(0.01 * count)
    yield pd.DataFrame({"user": key, "n": [count]})


def test_keys_that_take_long_are_weighed_by_their_seconds(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(table(0, seed=number), path)
        in_order(path, number)
    frame = read_stream(spark, tmp_path / "in")
    origin = stream(frame, "user", 2, checkpoint=str(tmp_path / "ck"), look="never")
    calls = origin.apply_with_state(slow_for_some, "user string, n long", "n long")
    calls.start(function=lambda rows, batch: rows.count(), trigger=NOW).awaitTermination()
    lines = events(str(tmp_path / "ck"))
    # Two batches tell what is chance.
    assert [line["weighed_by"] for line in lines] == ["rows", "rows", "seconds"]
    assert sum(lines[-1]["state"]["function_seconds"]) > 0.3
