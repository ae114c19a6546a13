"""The hash of a row: what a second run of its task may compute otherwise does not change it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from trimtab.spark.row_hash import DOUBLE_BITS, FLOAT_BITS, row_hash, spread_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]


def hashes(df: DataFrame) -> list[int]:
    """Return the hash of each row of one partition."""
    one = df.coalesce(1)
    return [row["h"] for row in one.select(row_hash(one).alias("h")).collect()]


def test_equal_rows_of_one_partition_have_equal_hashes_and_others_do_not(
    spark: SparkSession,
) -> None:
    rows = spark.range(0, 8, numPartitions=2).select(F.lit(1).alias("x"))
    found = rows.select(row_hash(rows).alias("h")).toPandas()["h"]
    assert found.nunique() == 2


@pytest.mark.smoke
def test_the_row_hash_takes_columns_that_cannot_be_hashed(spark: SparkSession) -> None:
    frame = spark.sql(
        "select map('a', id) as m, parse_json('1') as v, id as d, 2 as d from range(3)"
    )
    found = frame.select(row_hash(frame).alias("h")).toPandas()["h"]
    assert found.nunique() == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("array(1, 3, null, 2)", "array(null, 2, 1, 3)", id="a list"),
        pytest.param("array(array(1, 2), array(3))", "array(array(3), array(2, 1))", id="of lists"),
        pytest.param("map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)", id="a map"),
        pytest.param(
            "map('a', array(1, 2), 'b', null)", "map('b', null, 'a', array(2, 1))", id="of lists"
        ),
        pytest.param(
            "named_struct('s', array('x', 'y'), 't', 1)",
            "named_struct('s', array('y', 'x'), 't', 1)",
            id="a list in a struct",
        ),
        pytest.param(
            "array(named_struct('a', 2, 'm', map(1, 2, 3, 4)), named_struct('a', 1, 'm', null))",
            "array(named_struct('a', 1, 'm', null), named_struct('a', 2, 'm', map(3, 4, 1, 2)))",
            id="a list of structs with maps",
        ),
        pytest.param(
            "array(parse_json('1'), parse_json('\"x\"'))",
            "array(parse_json('\"x\"'), parse_json('1'))",
            id="a list of variants",
        ),
        pytest.param(
            "array('a' collate UTF8_LCASE, 'A' collate UTF8_LCASE)",
            "array('A' collate UTF8_LCASE, 'a' collate UTF8_LCASE)",
            id="a list of texts that a collation makes equal",
        ),
        pytest.param("0.1D + (0.2D + 0.3D)", "(0.1D + 0.2D) + 0.3D", id="a double"),
        pytest.param(
            "array(0.1D + (0.2D + 0.3D), 7D)", "array(7D, (0.1D + 0.2D) + 0.3D)", id="of doubles"
        ),
        pytest.param(
            "named_struct('f', cast(0.1 AS float) + cast(0.7 AS float) + cast(0.2 AS float))",
            "named_struct('f', cast(0.1 AS float) + (cast(0.7 AS float) + cast(0.2 AS float)))",
            id="a float in a struct",
        ),
        pytest.param("-0.0D", "0.0D", id="no sign of zero"),
        pytest.param("cast(null AS array<int>)", "cast(null AS array<int>)", id="no list"),
    ],
)
def test_what_a_second_run_may_do_otherwise(spark: SparkSession, one: str, other: str) -> None:
    # From files' columns, not constants: Spark must not fold what is compared.
    found = hashes(spark.sql(f"select if(id < 9, {one}, {other}) as x from range(1)"))
    assert found == hashes(spark.sql(f"select if(id > 9, {one}, {other}) as x from range(1)"))


def test_other_values_have_other_hashes(spark: SparkSession) -> None:
    values = ["array(1, 2)", "array(1, 3)", "array(1)", "array(1, 2, 2)", "array()"]
    rows = " union all ".join(f"select cast({value} as array<int>) as x" for value in values)
    assert len(set(hashes(spark.sql(rows)))) == len(values)
    maps = ["map(1, 2)", "map(2, 1)", "map(1, 3)", "map(1, 2, 3, 4)"]
    assert len(set(hashes(spark.sql(" union all ".join(f"select {m} as x" for m in maps))))) == 4


@pytest.mark.parametrize(
    ("kind", "bits"), [("double", DOUBLE_BITS), ("float", FLOAT_BITS)], ids=["doubles", "floats"]
)
def test_the_last_bit_of_a_number_rarely_counts(spark: SparkSession, kind: str, bits: int) -> None:
    rng = np.random.default_rng(5)
    dtype = np.float64 if kind == "double" else np.float32
    values = (rng.normal(size=20_000) * 10.0 ** rng.integers(-20, 20, 20_000)).astype(dtype)
    noisy = np.nextafter(values, dtype(np.inf))
    data = pd.DataFrame({"a": values, "b": noisy})
    df = spark.createDataFrame(data, f"a {kind}, b {kind}").coalesce(1)
    a, b = df.select(F.col("a").alias("x")), df.select(F.col("b").alias("x"))
    changed = int((np.array(hashes(a)) != np.array(hashes(b))).sum())
    # One in 2^(53 - bits), or 2^(24 - bits), and twice that at most where a number is just above a
    # power of two; six standard deviations of room.
    expected = 2 * values.size / 2.0 ** ((53 if kind == "double" else 24) - bits)
    assert changed <= expected + 6 * expected**0.5


@pytest.mark.parametrize(
    ("expression", "least"),
    [
        pytest.param("cast(id AS double)", 4000, id="numbers of things"),
        pytest.param("1.7e9D + id * 0.9", 400, id="seconds since 1970, over an hour"),
        pytest.param("1.7e12D + id * 900", 400, id="milliseconds since 1970, over an hour"),
        pytest.param("id / 4000D", 4000, id="shares"),
        pytest.param("cast(id / 4000D AS float)", 4000, id="shares as floats"),
        pytest.param("pow(10D, id / 20D)", 4000, id="magnitudes, up to 10^200"),
    ],
)
def test_rows_that_differ_in_a_number_alone_are_spread(
    spark: SparkSession, expression: str, least: int
) -> None:
    df = spark.range(4000).selectExpr(f"{expression} AS x")
    assert len(set(hashes(df))) >= least


def test_infinities_and_numbers_that_are_none_do_no_harm(spark: SparkSession) -> None:
    odd: list[Any] = [float("inf"), float("-inf"), float("nan"), 1.7e308, 5e-324, 0.0, None]
    assert len(hashes(spark.createDataFrame([(x,) for x in odd], "x double"))) == len(odd)


def test_names_that_differ_in_case_alone_are_left_out(spark: SparkSession) -> None:
    df = spark.range(3).selectExpr("id AS a", "id AS A", "id AS x")
    assert len(set(hashes(df))) == 3


def test_equal_rows_are_spread_where_a_second_run_has_them_in_the_same_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(0, 500, numPartitions=2).selectExpr("1 AS x").write.parquet(str(tmp_path / "x"))
    rows = spark.read.parquet(str(tmp_path / "x"))
    other = rows.selectExpr("x", "uuid() AS other_every_time")
    first, second = (
        [row["h"] for row in other.select(F.expr(spread_text(other)).alias("h")).collect()]
        for _ in range(2)
    )
    assert first == second
    assert len(set(first)) == 500
    mixed = rows.repartition(2)
    assert spread_text(mixed) != spread_text(rows)
