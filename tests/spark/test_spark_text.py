"""Texts of every version of Spark are read alike, and asking for them disturbs nobody."""

from __future__ import annotations

import io
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from tests.spark.spark_texts.cases import SCHEMA, explained, frames, record, recorded
from trimtab.spark.spark_text import (
    aggregate_call,
    all_plans,
    analyzed_plan,
    column_text,
    complaint,
    equalities,
    filters_after_watermark,
    grows,
    is_distinct,
    join_facts,
    keeps_order,
    physical_plan,
    plan_facts,
    python_aggregate,
    read_join_facts,
    read_plan_facts,
    speaks_of,
    watermarks,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = recorded()

CALLS = {
    "count of rows": ("count", "1"),
    "count of rows in SQL": ("count", "1"),
    "sum": ("sum", "x"),
    "sum in capitals": ("sum", "x"),
    "sum of an odd name": ("sum", "odd.name"),
    "sum of a product": ("sum", "(x * 2)"),
    "sum of what holds": ("sum", "CASE WHEN (USER = a) THEN x END"),
    "sum where": ("sum", "x) FILTER (WHERE (x > 1)"),
    "average": ("avg", "x"),
    "greatest row": ("max", "struct(user, x, odd.name)"),
    "greatest row in SQL": ("max", "struct(user, x, odd.name)"),
    "count where": ("count_if", "(x > 1)"),
    "distinct sum": ("sum", "DISTINCT x"),
    "distinct sum in SQL": ("sum", "DISTINCT x"),
    "sum as text": ("cast", "sum(x) AS STRING"),
    "average under a false name": None,
    "average under a false name in SQL": None,
    "sum with an alias": None,
    "sum and one": None,
    "sum over a window": None,
    "array": None,
}

GROWING = {
    *("list", "set", "array", "joined texts", "joined texts in SQL", "median", "mode"),
    *("percentile", "percentile in SQL", "bars", "size of a list"),
}

SPOKEN_OF = {
    "count of rows": [],
    "count of rows in SQL": [],
    "sum of an odd name": ["odd.name"],
    "sum of what holds": ["user", "x"],
    "sum where": ["x"],
    "greatest row": ["user", "x", "odd.name"],
    "greatest row in SQL": ["user", "x", "odd.name"],
    "joined texts": ["user"],
}

EQUAL = {
    "equal columns": [("a", "b")],
    "two pairs": [("a", "b"), ("c", "d")],
    "three pairs": [("a", "b"), ("c", "d"), ("b", "c")],
    "three pairs, the last two first": [("a", "b"), ("c", "d"), ("b", "c")],
    # Whether this is a name is not for the text to say; nor what Connect writes of a text.
    "a number": [("a", "1")],
}

IN_PYTHON = {
    "in Python": "middle",
    "in Python by an odd name": "middle",
    "in Python by many keys": "middle",
    "in Python without a name": "<lambda>",
}


def check(texts: dict[str, Any]) -> None:
    for case, text in texts["columns"].items():
        written, shown = column_text(text["written"]), text["shown"]
        assert "Column" not in written, case
        if case in CALLS:
            assert aggregate_call(written, shown) == CALLS[case], case
        assert grows(written) == (case in GROWING), case
        if case in SPOKEN_OF:
            names = ["user", "x", "odd.name"]
            spoken_of = [n for n in names if speaks_of(written, n) or speaks_of(shown, n)]
            assert spoken_of == SPOKEN_OF[case], case
    for case, text in texts["conditions"].items():
        if case != "a text":
            assert equalities(column_text(text)) == EQUAL.get(case), case
    for case, plan in texts["plans"].items():
        assert python_aggregate(plan) == IN_PYTHON.get(case), case
        assert is_distinct(plan) == (case == "one distinct"), case
    for count, case in enumerate(("no watermark", "one watermark", "two watermarks")):
        assert watermarks(texts["streams"][case]) == count, case


@pytest.mark.parametrize("mode", ["classic", "connect"])
@pytest.mark.parametrize("version", list(RECORDED))
def test_the_texts_of_every_version_are_read_alike(version: str, mode: str) -> None:
    check(RECORDED[version][mode])


def test_every_minor_version_since_the_first_supported_one_is_recorded() -> None:
    assert [version.rsplit(".", 1)[0] for version in RECORDED] == ["4.1", "4.2", "4.3"]


def test_a_complaint_is_its_first_line() -> None:
    assert complaint(ValueError("\n[CODE] no such column;\n'Project [1]\n")) == (
        "[CODE] no such column;"
    )
    assert complaint(ValueError()) == ""


@pytest.mark.spark
@pytest.mark.both
@pytest.mark.smoke
def test_the_texts_of_the_running_spark_are_read_like_those_recorded(spark: SparkSession) -> None:
    check(record(spark))
    assert spark.version.rsplit(".", 1)[0] in {version.rsplit(".", 1)[0] for version in RECORDED}


@pytest.mark.spark
@pytest.mark.both
def test_filters_by_a_time_that_has_a_watermark_are_told_apart(spark: SparkSession) -> None:
    rates = spark.readStream.format("rate").load()
    late = rates.withWatermark("timestamp", "10 seconds")
    recent = "timestamp > current_timestamp()"
    cases = {
        late: False,
        late.where("value > 1"): False,
        rates.where(recent).withWatermark("timestamp", "10 seconds"): False,
        late.where(f"value > 1 AND {recent}"): True,
        late.where(recent).selectExpr("timestamp AS t", "value").where("value > 1"): True,
    }
    for frame, by_time in cases.items():
        assert filters_after_watermark(all_plans(frame)) == by_time


@pytest.mark.spark
@pytest.mark.both
def test_the_physical_plan_is_what_explain_prints(spark: SparkSession) -> None:
    def numberless(text: str) -> str:
        return re.sub(r"#\d+|plan_id=\d+", "", text).strip()

    rows = spark.createDataFrame([("a", 1, 2.0), ("b", 2, 3.0)], SCHEMA)
    for case, frame in frames(rows).items():
        # Connect plans anew, with new numbers, every time that it is asked.
        assert numberless(physical_plan(frame)) == numberless(explained(frame)), case


@pytest.mark.spark
@pytest.mark.both
def test_threads_ask_for_plans_at_once_and_output_stays_where_it_was(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)

    def ask(thread: int) -> bool:
        own = True
        for i in range(5):
            name = f"name_{thread}_{i}"
            plan = physical_plan(spark.range(9).select(F.col("id").alias(name)))
            own &= name in plan and plan.count("name_") == plan.count(name)
            own &= sys.stdout is output
        return own

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(8)))
    assert sys.stdout is output
    assert output.getvalue() == ""


@pytest.mark.parametrize(
    ("plan", "keeps"),
    [
        pytest.param(
            "~Project [id#2L, <lambda>(s#3)#7 AS k#8]\n"
            "+- StreamingRelation FileSource[/in], [id#2L, s#3], name=<Unassigned>",
            True,
            id="a stream of files with a function in Python",
        ),
        pytest.param(
            "~EventTimeWatermark 6a2e, timestamp#9: timestamp, 1 seconds\n"
            "+- ~StreamingRelationV2 RateStreamProvider@2be12dfa, rate, Table@1, [value#10L]",
            True,
            id="a stream of another source",
        ),
        pytest.param(
            "Project [s#5]\n+- Filter (id#4L > cast(2 as bigint))\n"
            "   +- Relation [id#4L,s#5] parquet",
            True,
            id="rows of files that were chosen by what they hold",
        ),
        pytest.param(
            "Filter (<lambda>(s#3)#7 = 1)\n+- Relation [id#4L,s#5] parquet",
            False,
            id="rows chosen by a function in Python",
        ),
        pytest.param(
            "Filter (rand(5) < 0.5)\n+- Relation [id#4L,s#5] parquet",
            False,
            id="rows chosen by chance",
        ),
        pytest.param(
            "Project [s#5]\n+- Repartition 4, true\n   +- Relation [id#4L,s#5] parquet",
            False,
            id="rows that have moved",
        ),
        pytest.param(
            "Relation [id#4L,s#5] JDBCRelation(t) [numPartitions=1]", False, id="a database"
        ),
        pytest.param(
            "~StreamingRelationV2 Reader@2be12dfa, mine, Table@1, [value#10L]",
            False,
            id="a stream of which nothing is known",
        ),
        pytest.param("LogicalRDD [a#17], false", False, id="an RDD of which nothing is known"),
        pytest.param("Range (0, 3, step=1, splits=Some(2))", True, id="a range"),
        pytest.param("Filter s#5 LIKE a\nb\n+- Range (0, 3)", False, id="a text over two lines"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_rows_are_known_to_keep_their_order_or_taken_not_to(plan: str, keeps: bool) -> None:
    assert keeps_order(plan) is keeps


CACHED = """== Optimized Logical Plan ==
Project [xxhash64(key#1L, 42) AS h#98L], Statistics(sizeInBytes=3.0 MiB)
+- InMemoryRelation [key#1L], StorageLevel(disk, memory), Statistics(sizeInBytes=4.6 MiB, {rows})
      +- AdaptiveSparkPlan isFinalPlan=true
         +- == Final Plan ==
            HashAggregate(keys=[key#1L], functions=[])
         +- *(1) Range (0, 300000, step=1, splits=16)

== Physical Plan ==
*(1) Project [xxhash64(key#1L, 42) AS h#98L]
""".replace("{rows}", "rowCount=3.00E+5")

JOINED = """== Optimized Logical Plan ==
Join Inner, (key#129L = key#1L), Statistics(sizeInBytes=5.7 MiB)
:- Relation [key#129L,id#130L] parquet, Statistics(sizeInBytes=1191.0 KiB)
+- LogicalRDD [key#1L], false, Statistics(sizeInBytes=8.0 EiB)

== Physical Plan ==
BroadcastHashJoin [key#129L], [key#1L], Inner, BuildLeft, false, false
"""


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        pytest.param(
            CACHED, (3 * 2**20, 3e5, True, False, 0), id="how a cache was made is forgotten"
        ),
        pytest.param(
            JOINED, (5.7 * 2**20, None, False, True, 0), id="a join is not quick to look at"
        ),
        pytest.param(
            JOINED.partition("\n:-")[0], (5.7 * 2**20, None, False, False, 0), id="cut off"
        ),
        pytest.param("", (None, None, True, False, 0), id="nothing at all"),
    ],
)
def test_what_the_optimizer_knows_is_read(text: str, facts: tuple[Any, ...]) -> None:
    assert read_plan_facts(text) == facts


def test_both_sides_of_a_join_are_read_from_its_plan() -> None:
    found = read_join_facts(JOINED)
    assert found is not None
    assert found.left == (1191 * 2**10, None, True, False, 0)
    assert found.right == (None, None, True, False, 0)
    assert found.plain == read_plan_facts(JOINED)
    # What stands below a side is the side's, and above the join nothing but columns are chosen.
    deeper = JOINED.replace("\n+- Log", "\n+- Filter (x#2 > 1)\n   +- Join Inner\n      :- Log")
    found = read_join_facts(deeper)
    assert found is not None
    assert not found.right.quick
    assert read_join_facts(JOINED.replace("Join Inner", "Aggregate [key#1L]")) is None
    assert read_join_facts(JOINED.partition("\n+-")[0]) is None


@pytest.mark.spark
@pytest.mark.both
def test_a_joins_plan_tells_the_same_of_its_sides_as_they_do(spark: SparkSession) -> None:
    ids = spark.range(0, 1000, numPartitions=2)
    other = ids.selectExpr("id", "id + 1 AS y").cache()
    other.count()
    for how in ("inner", "left", "right", "full", "semi"):
        found = join_facts(ids, other, ids.join(other, "id", how))
        for ours, alone in ((found.left, plan_facts(ids)), (found.right, plan_facts(other))):
            assert (ours.rows, ours.quick) == (alone.rows, alone.quick)
            # Of a semi join only the keys are needed.
            assert how == "semi" or ours.bytes == alone.bytes
    grouped = join_facts(ids, other, ids.join(other.groupBy("id").count(), "id"))
    assert (grouped.left.quick, grouped.right.quick) == (True, False)


@pytest.mark.spark
@pytest.mark.both
def test_the_plan_of_a_frame_tells_whether_its_rows_keep_their_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(9).selectExpr("id", "id % 3 AS x").where("x > 1")
    assert keeps_order(analyzed_plan(rows))
    assert not keeps_order(analyzed_plan(rows.repartition(2)))
    assert not keeps_order(analyzed_plan(rows.groupBy("x").count()))
    stream = spark.readStream.format("rate").load()
    assert keeps_order(analyzed_plan(stream))
    assert keeps_order(analyzed_plan(stream.where("value > 3")))
    files = spark.readStream.schema("x long").parquet(str(tmp_path))
    assert keeps_order(analyzed_plan(files))


@pytest.mark.spark
@pytest.mark.both
def test_facts_of_frames(spark: SparkSession) -> None:
    ids = spark.range(0, 1000, numPartitions=2)
    # Sizes are shown with one digit after the point.
    size = pytest.approx(8000, rel=0.01)
    assert plan_facts(ids.selectExpr("id * 2 AS x")) == (size, 1000, True, False, 0)
    grouped = plan_facts(ids.groupBy((ids.id % 7).alias("k")).count())
    assert (grouped.quick, grouped.shuffles) == (False, 1)
    apart = ids.repartition(3, "id").cache()
    apart.count()
    assert plan_facts(apart.groupBy("id").count()).shuffles == 0
    assert not plan_facts(ids.mapInArrow(lambda batches: batches, "id long")).quick
