"""Keys and hashes of frames: what is refused, what is taken, and names never in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pyspark.sql import functions as F

import trimtab.spark as tt
from trimtab import hash_keys
from trimtab.errors import InvalidArgument, TrimtabError, UnsupportedKeyType
from trimtab.spark.columns import key_columns, quoted, row_bytes_text, spare_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        pytest.param(["a"], "__trimtab_lane", id="nothing in the way"),
        pytest.param(["__trimtab_lane"], "__trimtab_lane_1", id="taken"),
        pytest.param(["__TRIMTAB_Lane", "__trimtab_lane_1"], "__trimtab_lane_2", id="in any case"),
    ],
)
def test_spare_names(taken: list[str], expected: str) -> None:
    assert spare_names(taken, "lane") == [expected]


def test_spare_names_differ_from_each_other() -> None:
    assert spare_names([], "lane", "lane") == ["__trimtab_lane", "__trimtab_lane_1"]


@pytest.mark.smoke
def test_the_key_hash_is_the_one_of_the_core(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1), (None, 2), ("", -3)], "k string, n int")
    found = frame.select(key_columns(frame, ["k", "n"]).hash.alias("h")).toPandas()["h"]
    expected = hash_keys(["a", None, ""], np.array([1, 2, -3], dtype=np.int32))
    np.testing.assert_array_equal(found.to_numpy().view(np.uint64), expected)


@pytest.mark.parametrize("key", ["K", "s.a", "S.A", "odd.name", "sp ace"])
def test_every_spelling_spark_knows(spark: SparkSession, key: str) -> None:
    frame = spark.sql("select 'x' as k, named_struct('a', 1) as s, 2 as `odd.name`, 3 as `sp ace`")
    assert frame.select(key_columns(frame, key).hash).count() == 1


@pytest.mark.parametrize(
    ("key", "value"), [("`a.b`", 1), ("a.b", 1), ("a.`b`", 2), ("`a`.b", 2), ("`c``d`", 3)]
)
def test_a_dot_in_backticks_belongs_to_the_name(spark: SparkSession, key: str, value: int) -> None:
    frame = spark.sql("select 1 as `a.b`, named_struct('b', 2) as a, 3 as `c``d`")
    assert frame.select(*key_columns(frame, key).columns).first() == (value,)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("a`b", InvalidArgument, "no column 'a`b'"),
        ("nope", InvalidArgument, "no column 'nope'; it has 'k', 'm', 'v', 'c', 'd', 'd'"),
        ("k.x", InvalidArgument, "no column 'k.x'"),
        ("d", InvalidArgument, "'d' stands 2 times"),
        (["k", "k"], InvalidArgument, "'k' was given twice"),
        ([], InvalidArgument, "no key column was given"),
        (7, InvalidArgument, "a key must be a column name or a Column"),
        ([None], InvalidArgument, "a key must be a column name or a Column"),
        ("m", UnsupportedKeyType, "key column 'm' is of type map<string,int>"),
        ("v", UnsupportedKeyType, "key column 'v' is of type array<struct<x:map<int,int>>>"),
        ("c", UnsupportedKeyType, "key column 'c' has collation UTF8_LCASE"),
    ],
)
def test_mistakes(spark: SparkSession, key: Any, error: type[TrimtabError], message: str) -> None:
    frame = spark.sql(
        "select 'x' as k, map('a', 1) as m, array(named_struct('x', map(1, 2))) as v, "
        "'x' collate UTF8_LCASE as c, 1 as d, 2 as d"
    )
    with pytest.raises(error) as failure:
        key_columns(frame, key)
    assert message in str(failure.value)


@pytest.mark.smoke
def test_an_expression_spark_cannot_read_is_told_in_one_sentence(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read from the frame"):
        key_columns(spark.range(1), F.col("nope") + 1)


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="expected a Spark DataFrame; got list"):
        key_columns([1, 2], "k")  # type: ignore[arg-type]


def test_row_bytes(spark: SparkSession) -> None:
    frame = spark.sql("select 'äb' as s, 1 as i, cast(null as string) as n, array(1, 2) as a")
    # Three bytes of text, four of an integer, none of null, six of '[1, 2]'.
    assert frame.select(F.expr(row_bytes_text(frame.schema))).collect()[0][0] == 13.0


def test_quoted_names() -> None:
    assert quoted("a`b.c") == "`a``b.c`"


def test_a_column_is_found_by_the_alias_of_its_frame(spark: SparkSession) -> None:
    df = spark.sql("select id % 3 as k, id as v from range(9)").alias("q")
    assert key_columns(df, "q.k").plain == (True,)
    assert key_columns(df, "q.k").texts == ("`k`",)
    with pytest.raises(InvalidArgument, match=r"no column 'p\.k'"):
        key_columns(df, "p.k")
    # Two columns of one name are told apart by their aliases alone.
    both = df.join(df.alias("r"), F.expr("q.v = r.v"))
    assert key_columns(both, "r.k").plain == (False,)
    ours = tt.group_by(df, "q.k", lanes=2).applyInPandas(lambda rows: rows[["k"]].head(1), "k long")
    assert sorted(row.k for row in ours.collect()) == [0, 1, 2]
    counted = tt.group_by(both, "r.k").count().collect()
    assert sorted(map(tuple, counted)) == sorted(map(tuple, both.groupBy("r.k").count().collect()))


def test_only_the_column_itself_is_plain(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1)], "user string, `odd.name` int")
    plain = ["user", F.col("user"), frame["user"], F.expr("user"), F.col("`odd.name`")]
    assert all(key_columns(frame, key).plain == (True,) for key in plain)
    # A literal is shown as a column of its name would be, and may be called so as well.
    others = [F.lit("user"), F.upper("user").alias("user"), F.lit(1).alias("odd.name")]
    assert all(key_columns(frame, key).plain == (False,) for key in others)


def test_a_column_whose_name_stands_twice_is_an_expression(spark: SparkSession) -> None:
    left = spark.createDataFrame([("a", 1)], "user string, x int").alias("left")
    right = spark.createDataFrame([("b", 1)], "user string, x int").alias("right")
    both = left.join(right, F.col("left.x") == F.col("right.x"))
    key = key_columns(both, F.col("right.user"))
    assert (key.names, key.plain) == (["user"], (False,))
