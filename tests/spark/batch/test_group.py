"""Grouping against Spark's own: equal results, one shuffle, whole keys where they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.spark.frames import (
    KEYS,
    clock_change,
    hashings,
    keyed,
    layouts,
    rows,
    session_setting,
    skewed,
)
from trimtab import hash_keys, planner, router
from trimtab.errors import InvalidArgument, SplitKeysRefused, TrimtabError
from trimtab.spark import group_by

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    return skewed(spark).cache()


def total(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {"user": [group["user"].iloc[0]], "n": [len(group)], "s": [group["x"].sum()]}
    )


TOTAL = "user string, n bigint, s bigint"


@pytest.mark.parametrize(
    "partitioner", [pytest.param("trim", marks=pytest.mark.smoke), "kip", "hash", "scan", "ch"]
)
def test_a_function_of_a_group_sees_whole_groups_in_one_shuffle(
    clicks: DataFrame, partitioner: str
) -> None:
    ours = group_by(clicks, "user", lanes=6, partitioner=partitioner).applyInPandas(total, TOTAL)
    assert rows(ours) == rows(clicks.groupBy("user").applyInPandas(total, TOTAL))
    assert layouts(ours) == 1
    assert hashings(ours) == 0


def test_the_key_is_given_to_functions_that_ask_for_it(clicks: DataFrame) -> None:
    def with_key(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"user": [key[0]], "page": [key[1]], "columns": [len(group.columns)]})

    schema = "user string, page int, columns int"
    ours = group_by(clicks, "user", "page", lanes=4).applyInPandas(with_key, schema)
    assert rows(ours) == rows(clicks.groupBy("user", "page").applyInPandas(with_key, schema))


@pytest.mark.smoke
def test_hours_that_a_clock_shows_twice_are_two_groups(spark: SparkSession) -> None:
    def size(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"n": [len(group)]})

    with session_setting(spark, "spark.sql.session.timeZone", "Europe/Berlin"):
        df = clock_change(spark).withColumnRenamed("hour", "at")
        ours = group_by(df, F.date_trunc("hour", "at"), lanes=3).applyInPandas(size, "n int")
        assert rows(ours) == {(40,): 1, (80,): 1, (10,): 1, (5,): 1}


def test_a_grouping_without_keys_is_sparks_own(clicks: DataFrame) -> None:
    def size(group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"n": [len(group)]})

    grouped = group_by(clicks, lanes=3, partitioner="kip")
    assert rows(grouped.applyInPandas(size, "n int", merge=size)) == {(2000,): 1}
    assert rows(grouped.agg(F.sum("x"))) == rows(clicks.agg(F.sum("x")))
    assert "Spark's own: there is no key" in grouped.explain()
    with pytest.raises(InvalidArgument, match="learn=True times keys on lanes; there is no key"):
        group_by(clicks, learn=True).applyInPandas(size, "n int")


def test_a_stream_is_grouped_by_spark(spark: SparkSession) -> None:
    ticks = spark.readStream.format("rate").load()
    grouped = group_by(ticks, "value", lanes=3)
    schema = "timestamp timestamp, value long"
    assert grouped.applyInPandas(lambda group: group, schema).isStreaming
    assert grouped.agg(F.collect_list("timestamp")).isStreaming
    assert "trimtab.spark.stream lays them out" in grouped.explain()


def test_arrow_functions(clicks: DataFrame) -> None:
    def sizes(group: pa.Table) -> pa.Table:
        return pa.table({"user": group["user"][:1], "n": [group.num_rows]})

    ours = group_by(clicks, "user", lanes=4).applyInArrow(sizes, "user string, n bigint")
    theirs = clicks.groupBy("user").applyInArrow(sizes, "user string, n bigint")
    assert rows(ours) == rows(theirs)


def aggregates() -> list[Column]:
    return [
        F.count("*").alias("n"),
        F.sum("x").alias("sum"),
        F.avg("price").alias("avg"),
        F.min("x").alias("min"),
        F.max("price").alias("max"),
        F.stddev("price").alias("sd"),
        F.var_pop("x").alias("var"),
        F.collect_list("x").alias("list"),
        F.collect_set("page").alias("set"),
        F.approx_count_distinct("x").alias("about"),
        F.percentile_approx("x", 0.5, 100_000).alias("median"),
        F.countDistinct("page").alias("pages"),
        F.corr("x", "price").alias("corr"),
        F.sum(F.col("x") * 2).alias("twice"),
        (F.sum("x") / F.count("x")).alias("ratio"),
    ]


@pytest.mark.parametrize(
    "partitioner",
    [
        pytest.param("trim", marks=pytest.mark.smoke),
        "prompt",
        "kip",
        "shuffle",
        pytest.param("pkg", marks=pytest.mark.smoke),
        "porc",
    ],
)
def test_every_aggregate_is_exact_whether_keys_are_split_or_not(
    clicks: DataFrame, partitioner: str
) -> None:
    ours = group_by(clicks, "user", lanes=6, partitioner=partitioner).agg(*aggregates())
    theirs = clicks.groupBy("user").agg(*aggregates())
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)


def test_whole_keys_are_aggregated_in_one_shuffle_and_split_ones_in_two(clicks: DataFrame) -> None:
    whole = group_by(clicks, "user", lanes=6, partitioner="kip").agg(F.collect_list("x"))
    split = group_by(clicks, "user", lanes=6, partitioner="trim").agg(F.collect_list("x"))
    assert (layouts(whole), hashings(whole)) == (1, 0)
    assert (layouts(split), hashings(split)) == (1, 1)


@pytest.mark.parametrize("key_type", list(KEYS))
def test_every_type_of_key_is_grouped_as_spark_groups_it(
    spark: SparkSession, key_type: str
) -> None:
    frame = keyed(spark, key_type)
    ours = group_by(frame, "k", lanes=5, partitioner="kip").count()
    assert rows(ours) == rows(frame.groupBy("k").count())
    assert (layouts(ours), hashings(ours)) == (1, 0)


@pytest.mark.smoke
def test_a_function_that_brings_a_merge_may_be_split(clicks: DataFrame) -> None:
    def merged(parts: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {"user": [parts["user"].iloc[0]], "n": [parts["n"].sum()], "s": [parts["s"].sum()]}
        )

    grouped = group_by(clicks, "user", lanes=6, partitioner="trim")
    ours = grouped.applyInPandas(total, TOTAL, merge=merged)
    assert layouts(ours) == 1
    assert rows(ours) == rows(clicks.groupBy("user").applyInPandas(total, TOTAL))


@pytest.mark.smoke
@pytest.mark.parametrize("method", ["applyInPandas", "applyInArrow"])
def test_learned_seconds_weigh_the_keys_of_the_next_run(clicks: DataFrame, method: str) -> None:
    import time

    def slow(group: Any) -> Any:
        name = group["user"][0]
        name = name.as_py() if isinstance(name, pa.Scalar) else name
        time.sleep(0.3 if name == "k1" else 0.0)
        if name == "k2":
            return group[:0].select(["user"]) if method == "applyInArrow" else group[:0][["user"]]
        return group.select(["user"])[:1] if method == "applyInArrow" else group[["user"]][:1]

    grouped = group_by(clicks, "user", lanes=3, learn=True)
    result, learned = getattr(grouped, method)(slow, "user string")
    plain = getattr(clicks.groupBy("user"), method)(slow, "user string")
    assert rows(result) == rows(plain)
    histogram = learned.histogram()
    learned.measured.unpersist()
    assert histogram.unit == "seconds"
    assert histogram.distinct == clicks.select("user").distinct().count()
    from trimtab import hash_keys

    assert int(histogram.hashes[0]) == int(hash_keys(["k1"])[0])
    again = group_by(clicks, "user", lanes=3, histogram=histogram)
    assert "expected max/mean" in again.explain()


@pytest.mark.smoke
def test_explain_names_the_partitioner_the_shuffles_and_the_saving(clicks: DataFrame) -> None:
    text = group_by(clicks, "user", lanes=6).explain()
    assert "partitioner 'trim' on 6 lanes, 1 shuffle" in text
    assert "by plain hashing" in text
    assert "less time" in text


@pytest.mark.parametrize(
    "data", [[], [("a", 1)], [("a", i) for i in range(9)], [(None, i) for i in range(9)]],
    ids=["no rows", "one row", "one key", "only nulls"],
)  # fmt: skip
def test_tiny_frames(spark: SparkSession, data: list[tuple[Any, int]]) -> None:
    frame = spark.createDataFrame(data, "k string, x int")
    ours = group_by(frame, "k", lanes=7, partitioner="trim").agg(F.sum("x").alias("s"))
    assert rows(ours) == rows(frame.groupBy("k").agg(F.sum("x").alias("s")))


def test_reserved_names_in_the_users_data_are_left_alone(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "__trimtab_lane string, x int")
    ours = group_by(frame, "__trimtab_lane", lanes=2).applyInPandas(
        lambda g: g, "__trimtab_lane string, x int"
    )
    assert rows(ours) == rows(frame)


def test_partitioners_that_split_are_refused_where_keys_must_be_whole(clicks: DataFrame) -> None:
    for name in ("prompt", "pkg", "cm"):
        with pytest.raises(SplitKeysRefused, match=f"'{name}' splits keys"):
            group_by(clicks, "user", lanes=4, partitioner=name).applyInPandas(total, TOTAL)


@pytest.mark.parametrize("name", ["cam", pytest.param("am", marks=pytest.mark.exhaustive)])
def test_a_router_that_decides_once_for_all_tasks_keeps_keys_whole(
    name: str, clicks: DataFrame
) -> None:
    grouped = group_by(clicks, "user", lanes=4, partitioner=name)
    assert "keys whole" in grouped.explain()
    ours = rows(grouped.applyInPandas(total, TOTAL))
    assert ours == rows(clicks.groupBy("user").applyInPandas(total, TOTAL))


@pytest.mark.smoke
def test_an_aggregate_that_cannot_be_split_is_refused_by_name(clicks: DataFrame) -> None:
    @F.pandas_udf("double")  # type: ignore[call-overload,untyped-decorator]
    def middle(values: pd.Series) -> float:
        return float(values.median())

    with pytest.raises(SplitKeysRefused, match="'middle' needs all rows"):
        group_by(clicks, "user", lanes=4, partitioner="trim").agg(middle("x"))
    whole = group_by(clicks, "user", lanes=4).agg(middle("x").alias("m"))
    assert rows(whole) == rows(clicks.groupBy("user").agg(middle("x").alias("m")))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": ["nope"]}, "no column 'nope'"),
        ({"keys": ["user", "user"]}, "given twice"),
        ({"keys": ["user"], "lanes": 0}, "lanes must be"),
        ({"keys": ["user"], "partitioner": "hahs"}, "unknown partitioner 'hahs'"),
        ({"keys": ["user"], "partitioner": 7}, "partitioner must be"),
        ({"keys": ["user"], "lanes": 3, "partitioner": planner("kip", lanes=4)}, "4 lanes"),
    ],
)
def test_mistakes_are_one_sentence(
    clicks: DataFrame, arguments: dict[str, Any], message: str
) -> None:
    keys = arguments.pop("keys")
    with pytest.raises(TrimtabError, match=message):
        group_by(clicks, *keys, **{"lanes": 2, **arguments}).count()


def test_a_map_cannot_be_a_key(spark: SparkSession) -> None:
    frame = spark.sql("select map('a', 1) as m")
    with pytest.raises(TrimtabError, match="key column 'm' is of type map"):
        group_by(frame, "m", lanes=2)


@pytest.mark.smoke
def test_what_spark_combines_is_left_to_spark(clicks: DataFrame) -> None:
    grouped = group_by(clicks, "user", lanes=6)
    small = grouped.agg(F.sum("x"), F.max("price"))
    assert (layouts(small), hashings(small)) == (0, 1)
    assert "combines a key's rows" in grouped.explain(F.sum("x"))
    assert layouts(grouped.agg(F.countDistinct("x"))) == 1


@pytest.mark.parametrize("partitioner", ["trim", "kip"])
def test_an_aggregate_of_all_columns_sees_those_of_the_user_only(
    clicks: DataFrame, partitioner: str
) -> None:
    wanted = [F.max(F.struct("*")), F.countDistinct("*"), F.expr("sum(hash(*))"), F.count("*")]
    grouped = group_by(clicks, "user", lanes=6, partitioner=partitioner)
    assert rows(grouped.agg(*wanted)) == rows(clicks.groupBy("user").agg(*wanted))
    assert "an aggregate is of all columns (*)" in grouped.explain(*wanted)
    assert layouts(grouped.agg(F.count("*"), F.collect_list(F.struct("user", "x")))) == 1


def test_lists_are_laid_out_only_where_that_pays(clicks: DataFrame, spark: SparkSession) -> None:
    grouped = group_by(clicks, "user", lanes=6)
    for growing in (F.collect_list("x"), F.expr("percentile(x, 0.5)")):
        # One key has half of the rows: whole, it fills its lane by any plan.
        assert layouts(grouped.agg(growing)) == 0
        assert "pay from 2.5 on" in grouped.explain(growing)
    ids = np.arange(1000)
    # Hashing sends all of these to one lane of six.
    together = ids[hash_keys(ids) % np.uint64(6) == 3].tolist()
    crowded = spark.createDataFrame([(key, 1) for key in together * 10], "k bigint, x int")
    grouped = group_by(crowded, "k", lanes=6)
    assert layouts(grouped.agg(F.collect_list("x"))) == 1
    assert rows(grouped.agg(F.collect_list("x"))) == rows(
        crowded.groupBy("k").agg(F.collect_list("x"))
    )
    assert "partitioner 'trim'" in grouped.explain(F.collect_list("x"))


def test_a_dictionary_of_aggregates(clicks: DataFrame) -> None:
    wanted = {"x": "sum", "*": "count", "price": "mean", "page": "stddev"}
    ours = group_by(clicks, "user", lanes=6, partitioner="kip").agg(wanted)
    theirs = clicks.groupBy("user").agg(wanted)
    assert layouts(ours) == 1
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)


def test_an_expression_is_a_key_even_if_a_column_has_its_name(clicks: DataFrame) -> None:
    initial = F.substring("user", 1, 1).alias("user")
    ours = group_by(clicks, initial, lanes=4, partitioner="trim").agg(F.count("*").alias("n"))
    theirs = clicks.groupBy(initial).agg(F.count("*").alias("n"))
    assert ours.columns == theirs.columns
    assert rows(ours) == rows(theirs)


def test_a_literal_is_a_key_even_if_a_column_has_its_name(clicks: DataFrame) -> None:
    ours = group_by(clicks, F.lit("user"), lanes=4, partitioner="trim").count()
    assert rows(ours) == rows(clicks.groupBy(F.lit("user")).count())


def test_functions_do_not_see_columns_of_ours(clicks: DataFrame) -> None:
    def seen(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"key": [str(key)], "columns": [",".join(group.columns)]})

    schema = "key string, columns string"
    ours = group_by(clicks, F.upper("user"), "page", lanes=4).applyInPandas(seen, schema)
    theirs = clicks.groupBy(F.upper("user"), "page").applyInPandas(seen, schema)
    assert rows(ours) == rows(theirs)


def test_functions_that_take_a_group_in_pieces(clicks: DataFrame) -> None:
    def pandas_pieces(
        key: tuple[Any, ...], pieces: Iterator[pd.DataFrame]
    ) -> Iterator[pd.DataFrame]:
        for piece in pieces:
            yield pd.DataFrame({"user": [key[0]], "columns": [len(piece.columns)]})

    def arrow_pieces(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in pieces:
            size = pa.array([piece.num_columns], pa.int32())
            yield pa.RecordBatch.from_arrays([piece["user"][:1], size], ["user", "columns"])

    schema = "user string, columns int"
    grouped, plain = group_by(clicks, "user", lanes=4), clicks.groupBy("user")
    ours = grouped.applyInPandas(pandas_pieces, schema)
    assert rows(ours) == rows(plain.applyInPandas(pandas_pieces, schema))
    ours = grouped.applyInArrow(arrow_pieces, schema)
    assert rows(ours) == rows(plain.applyInArrow(arrow_pieces, schema))


def test_a_router_may_bring_its_parameters(clicks: DataFrame) -> None:
    five = router("pkg", lanes=6, choices=5, seed=3)
    ours = group_by(clicks, "user", lanes=6, partitioner=five).agg(F.sum("x").alias("s"))
    assert rows(ours) == rows(clicks.groupBy("user").agg(F.sum("x").alias("s")))


def test_agg_without_aggregates_is_refused(clicks: DataFrame) -> None:
    with pytest.raises(InvalidArgument, match="agg takes aggregate columns"):
        group_by(clicks, "user", lanes=2).agg()
