"""Windowed aggregation against Spark's own query on the same files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tests.spark.stream.crash.queries import merge_early
from tests.spark.stream.inputs import (
    AGGREGATES,
    DOUBLES,
    MERGED,
    SECONDS_PER_FILE,
    START,
    in_order,
    native_results,
    read_stream,
    sorted_rows,
    table,
    whole,
    write_files,
)
from trimtab.journal import moments
from trimtab.journal.event_log import EventLog
from trimtab.partitioners import known
from trimtab.spark.stream import runner
from trimtab.spark.stream.api import stream
from trimtab.spark.stream.planned_once import ADAPTIVE, PARTITIONS, planned_once
from trimtab.spark.stream.windows import reduce_tasks

pytestmark = pytest.mark.spark

FILES = 6
TUMBLING: dict[str, Any] = {"window": "10 seconds", "slide": None, "watermark": "12 seconds"}
SLIDING: dict[str, Any] = {"window": "12 seconds", "slide": "2 seconds", "watermark": "12 seconds"}
LONG: dict[str, Any] = {"window": "160 seconds", "slide": "20 seconds", "watermark": "12 seconds"}
"""A batch is an eighth of such a window, so that results are carried on."""
ODD: dict[str, Any] = {"window": "10 seconds", "slide": "4 seconds", "watermark": "3 seconds"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_files(tmp_path_factory.mktemp("input") / "in", FILES)


class Natives:
    """Spark's own results, each made once."""

    def __init__(self, spark: SparkSession, files: list[Path], scratch: Path) -> None:
        self.spark, self.files, self.scratch = spark, files, scratch
        self.made: dict[str, list[Row]] = {}

    def __call__(self, **query: Any) -> list[Row]:
        name = repr(sorted(query.items(), key=lambda item: item[0]))
        if name not in self.made:
            place = self.scratch / str(len(self.made))
            self.made[name] = native_results(self.spark, self.files, place, **query)
        return self.made[name]


@pytest.fixture(scope="module")
def native(
    spark: SparkSession, files: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Natives:
    return Natives(spark, files, tmp_path_factory.mktemp("native"))


def ours(
    spark: SparkSession,
    files: list[Path],
    scratch: Path,
    partitioner: str = "trim",
    layout: str = "lanes",
    output_mode: str = "append",
    aggregates: dict[str, Any] = AGGREGATES,
    **windows: Any,
) -> list[Row]:
    made = stream(
        read_stream(spark, files[0].parent),
        "user",
        lanes=3,
        partitioner=partitioner,
        checkpoint=str(scratch / "ck"),
        layout=layout,
    ).aggregate(time="ts", **windows, **{name: make() for name, make in aggregates.items()})
    query = made.start(
        str(scratch / "out"),
        output_mode=output_mode,
        batch_column="batch",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    return sorted_rows(spark.read.parquet(str(scratch / "out")).drop("batch"))


REPRESENTATIVES = ("trim", "prompt", "dalton")
"""One of each road a batch can take: a plan from earlier batches, a plan from the batch itself, and
a router in its task."""

EVERY_PARTITIONER = [
    pytest.param(name, marks=() if name in REPRESENTATIVES else pytest.mark.exhaustive)
    for name in known()
]


@pytest.mark.parametrize("partitioner", EVERY_PARTITIONER)
def test_sliding_windows_equal_sparks_own_with_every_partitioner(
    partitioner: str, spark: SparkSession, files: list[Path], native: Natives, tmp_path: Path
) -> None:
    assert ours(spark, files, tmp_path, partitioner, **SLIDING) == native(**SLIDING)


@pytest.mark.parametrize(
    ("windows", "options"),
    [
        pytest.param(
            TUMBLING,
            {"layout": "lanes"},
            id="tumbling, rows moved to lanes",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(TUMBLING, {"layout": "source"}, id="tumbling, rows combined at the source"),
        pytest.param(
            SLIDING,
            {"layout": "auto"},
            id="sliding, rows combined where that is best",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(SLIDING, {"aggregates": MERGED}, id="sliding, aggregates without an inverse"),
        pytest.param(ODD, {}, id="a window that is no multiple of the slide"),
        pytest.param(
            ODD,
            {"aggregates": MERGED},
            id="such a window, without an inverse",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            TUMBLING,
            {"output_mode": "update"},
            id="tumbling, what a batch changed",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            SLIDING,
            {"output_mode": "update"},
            id="sliding, what a batch changed, by running sums",
        ),
        pytest.param(
            ODD,
            {"output_mode": "update", "aggregates": MERGED},
            id="what a batch changed, merged",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_windows_equal_sparks_own(
    windows: dict[str, Any],
    options: dict[str, Any],
    spark: SparkSession,
    files: list[Path],
    native: Natives,
    tmp_path: Path,
) -> None:
    asked = {key: value for key, value in options.items() if key != "layout"}
    assert ours(spark, files, tmp_path, **options, **windows) == native(**asked, **windows)


def test_a_result_that_is_carried_on_gives_what_spark_gives(
    spark: SparkSession, files: list[Path], native: Natives, tmp_path: Path
) -> None:
    asked = {**LONG, "aggregates": {**AGGREGATES, **DOUBLES}}
    assert ours(spark, files, tmp_path, **asked) == native(**asked)
    events = list(EventLog(tmp_path / "ck").events())
    # The first batch closes all windows before its rows at once, the others one each.
    assert [event["carried"] for event in events] == [False] + [True] * (FILES - 1)
    # What came and went is read, not the window: with late rows that is in three segments.
    assert max(event.get("segments_read", 0) for event in events) <= 3


@pytest.mark.parametrize(
    "aggregates",
    [
        pytest.param(MERGED, id="in levels, as there is no inverse"),
        pytest.param({**AGGREGATES, **DOUBLES}, id="carried on", marks=pytest.mark.exhaustive),
    ],
)
def test_panes_that_are_merged_again_and_again_give_what_spark_gives(
    aggregates: dict[str, Any],
    spark: SparkSession,
    files: list[Path],
    native: Natives,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    merge_early(monkeypatch.setattr)
    asked = {**LONG, "aggregates": aggregates}
    assert ours(spark, files, tmp_path, layout="source", **asked) == native(**asked)
    kept = {folder.name for folder in (tmp_path / "ck" / "panes").iterdir()}
    assert any("-merged" in name for name in kept)
    assert any("-condensed" in name for name in kept) == (aggregates is MERGED)


def test_sums_that_cannot_be_taken_back_are_not_carried_and_right(
    spark: SparkSession, files: list[Path], tmp_path: Path
) -> None:
    far = {"weight": lambda: F.sum("weight"), "far": lambda: F.sum(F.col("weight") * 2.0**200)}
    found = ours(spark, files, tmp_path, aggregates=far, **LONG)
    assert found
    assert all(row["far"] == row["weight"] * 2.0**200 for row in found)
    assert not any(event["carried"] for event in EventLog(tmp_path / "ck").events())


def one_window_each(place: Path) -> list[Path]:
    """Write files with a key that has two thirds of the rows; every window is of one file."""
    place.mkdir()
    made = []
    for number in range(3):
        begin = (START + number * SECONDS_PER_FILE) * 1_000_000
        hot = ["hot" if row % 3 else f"user{row % 40}" for row in range(400)]
        rows = table(number).set_column(0, "user", pa.array(hot))
        micros = pc.fill_null(pc.cast(rows["ts"], pa.int64()), 0)
        made.append(place / f"{number}.parquet")
        # No row is late.
        pq.write_table(rows.filter(pc.greater_equal(micros, begin)), made[-1])
        in_order(made[-1], number)
    return made


@pytest.mark.parametrize(
    "dies_at",
    [
        pytest.param([], id="undisturbed", marks=pytest.mark.exhaustive),
        pytest.param(
            [("panes written", 1), ("results written", 1), ("results listed", 2)],
            id="through crashes",
        ),
    ],
)
def test_keys_that_were_not_split_pass_the_merge_by(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dies_at: list[tuple[str, int]],
) -> None:
    made, left = one_window_each(tmp_path / "in"), list(dies_at)

    def die(moment: str, batch: int) -> None:
        if left and (moment, batch) == left[0]:
            left.pop(0)
            raise OSError("the process ends here")

    monkeypatch.setattr(moments, "at", die)
    seconds = f"{SECONDS_PER_FILE} seconds"
    asked: dict[str, Any] = {"window": seconds, "slide": None, "watermark": "0 seconds"}
    for _ in dies_at:
        with pytest.raises(StreamingQueryException, match="ends here"):
            ours(spark, made, tmp_path, **asked)
    found = ours(spark, made, tmp_path, **asked)
    assert left == []
    rows = whole(spark, made).where(f"ts < timestamp_seconds({START + 2 * SECONDS_PER_FILE})")
    columns = [make().alias(name) for name, make in AGGREGATES.items()]
    assert found == sorted_rows(rows.groupBy(F.window("ts", seconds), "user").agg(*columns))
    events = list(EventLog(tmp_path / "ck").events())
    assert [event.get("forwarded") for event in events] == [None, True, True]
    kept = (tmp_path / "ck" / "state" / "2.json").read_text()
    assert re.search(r"split\W+\d", kept), "no key was split"


def test_prompts_buckets_get_the_partial_results_and_the_log_counts_them(
    spark: SparkSession, files: list[Path], native: Natives, tmp_path: Path
) -> None:
    assert ours(spark, files, tmp_path, "prompt", **TUMBLING) == native(**TUMBLING)
    events = list(EventLog(tmp_path / "ck").events())
    counted = [event["reduce_rows"] for event in events if event["windows"]]
    assert counted
    assert all(len(rows) == 3 and sum(rows) > 0 for rows in counted)


@pytest.mark.parametrize(
    "windows",
    [
        pytest.param(TUMBLING, id="tumbling"),
        pytest.param(SLIDING, id="sliding", marks=pytest.mark.exhaustive),
        pytest.param(LONG, id="long", marks=pytest.mark.exhaustive),
    ],
)
def test_batches_that_are_planned_once_have_sparks_own_results(
    spark: SparkSession,
    files: list[Path],
    native: Natives,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    windows: dict[str, Any],
) -> None:
    asked: list[int | None] = []

    @contextmanager
    def recorded(session: SparkSession, tasks: int | None) -> Iterator[None]:
        asked.append(tasks)
        with planned_once(session, tasks):
            yield

    monkeypatch.setattr(reduce_tasks, "LEAST_ROWS", 1)
    monkeypatch.setattr(runner, "planned_once", recorded)
    made = stream(read_stream(spark, files[0].parent), "user", 3, checkpoint=str(tmp_path / "ck"))
    counted = made.aggregate(time="ts", **windows, **{n: make() for n, make in AGGREGATES.items()})
    query = counted.start(str(tmp_path / "out"), trigger={"availableNow": True})
    query.awaitTermination()
    assert sorted_rows(spark.read.parquet(str(tmp_path / "out"))) == native(**windows)
    # Nothing is known before the first batch; later ones have a task for each slot, twice.
    assert asked.count(2) >= FILES


def test_a_function_for_the_results_finds_the_session_as_its_user_has_set_it(
    spark: SparkSession, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[tuple[Any, ...]] = set()

    def look(results: DataFrame, _: Any) -> None:
        session = results.sparkSession
        seen.add((session.conf.get(ADAPTIVE), session.conf.get(PARTITIONS)))

    monkeypatch.setattr(reduce_tasks, "LEAST_ROWS", 1)
    made = stream(read_stream(spark, files[0].parent), "user", 3, checkpoint=str(tmp_path / "ck"))
    counted = made.aggregate(time="ts", **SLIDING, n=F.count("*"))
    counted.start(function=look, trigger={"availableNow": True}).awaitTermination()
    assert seen == {(spark.conf.get(ADAPTIVE), spark.conf.get(PARTITIONS))}
