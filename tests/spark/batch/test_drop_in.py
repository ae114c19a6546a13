"""`group_by` in place of `groupBy`: the same rows, columns, warnings and errors, verb by verb."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tests.spark.frames import rows, session_setting
from trimtab.spark import group_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.both]

GroupBy = Callable[..., Any]
Scenario = Callable[["DataFrame", GroupBy], "DataFrame"]

SAFELY = "spark.sql.execution.pandas.convertToArrowArraySafely"
BY_NAME = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"
EXTENSION = "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype"
TO_DECIMAL = "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled"
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
MEAN = "id long, mean double"
KINDS = "kinds string, n int"

_RAISED = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception)): (.*)$", re.MULTILINE)


def ours(df: DataFrame, *keys: Any) -> Any:
    return group_by(df, *keys, lanes=3)


def theirs(df: DataFrame, *keys: Any) -> Any:
    return df.groupBy(*keys)


def outcome(scenario: Scenario, df: DataFrame, grouped: GroupBy) -> Any:
    """Return columns, types and rows; or the error, in a task the one that its function met."""
    try:
        result = scenario(df, grouped)
        return [(f.name, f.dataType) for f in result.schema.fields], rows(result)
    except Exception as error:
        met = _RAISED.findall(str(error))
        words = met[-1] if met and "Traceback" in str(error) else str(error).partition("\n")[0]
        return type(error).__name__, words


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT id, explode(sequence(20, 29)) AS v FROM range(10)").cache()


def same(
    spark: SparkSession, df: DataFrame, scenario: Scenario, settings: dict[str, str] | None = None
) -> Any:
    """Compare the two outcomes, and return the one of Spark."""
    with ExitStack() as stack:
        for name, value in (settings or {}).items():
            stack.enter_context(session_setting(spark, name, value))
        expected = outcome(scenario, df, theirs)
        assert outcome(scenario, df, ours) == expected
    return expected


def made(keys: tuple[Any, ...]) -> list[Any]:
    """Return keys with what is no name made into a Column, for which there must be a session."""
    return [F.expr(k) if isinstance(k, str) and not k.isidentifier() else k for k in keys]


def in_pandas(func: Callable[..., Any], schema: Any, *keys: Any) -> Scenario:
    return lambda df, by: by(df, *made(keys or ("id",))).applyInPandas(func, schema)


def in_arrow(func: Callable[..., Any], schema: Any, *keys: Any) -> Scenario:
    return lambda df, by: by(df, *made(keys or ("id",))).applyInArrow(func, schema)


def paired(func: Callable[..., Any], schema: Any, *keys: Any, method: str) -> Scenario:
    def scenario(df: DataFrame, by: GroupBy) -> DataFrame:
        other = df.where("id % 3 = 0").withColumn("w", F.col("v") + 1)
        pair = by(df, *made(keys)).cogroup(by(other, *made(keys)))
        result: DataFrame = getattr(pair, method)(func, schema)
        return result

    return scenario


def named(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([(group.v.mean(), *key)], columns=["mean", "id"])


def unnamed(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([(*key, group.v.mean())])


def sometimes(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return named(key, group) if key[0] % 2 else unnamed(key, group)


def half_empty(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return named(key, group) if key[0] % 2 else pd.DataFrame()


def kinds_of_key(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    shown = repr([(type(part).__name__, part) for part in key])
    return pd.DataFrame({"kinds": [shown], "n": [len(group)]})


def kinds_of_columns(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"kinds": [repr(list(map(str, group.dtypes)))], "n": [len(group)]})


def without_rows(group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"id": group.id, "mean": group.v / 2}).head(0)


def scaled(group: pd.DataFrame, *, by: int = 2) -> pd.DataFrame:
    return pd.DataFrame({"id": group.id[:1], "mean": [group.v.mean() * by]})


def halves(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for piece in pieces:
        yield pd.DataFrame({"id": piece.id[:1], "mean": [float(len(piece))]})


def keyed_halves(key: tuple[Any, ...], pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for piece in pieces:
        yield pd.DataFrame({"id": [key[0]], "mean": [float(len(piece))]})


def first_piece(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    piece = next(pieces)
    yield pd.DataFrame({"id": piece.id[:1], "mean": [float(len(piece))]})


def no_frames(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield from ("text" for _ in pieces)  # type: ignore[misc]


def listed(group: pd.DataFrame) -> Any:
    return [1]


def wrong_names(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([(*key, 1.0, 2.0)], columns=["id", "median", "std"])


def too_many(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([(*key, 1.0, 2.0)])


def text_for_mean(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([(*key, "text")], columns=["id", "mean"])


def one_for_mean(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([(*key, 1)], columns=["id", "mean"])


def failing(group: pd.DataFrame) -> pd.DataFrame:
    raise ZeroDivisionError("by design")


PANDAS: dict[str, tuple[Scenario, dict[str, str]]] = {
    "columns by name": (in_pandas(named, MEAN), {}),
    "columns in order": (in_pandas(unnamed, MEAN), {}),
    "columns by name in some groups": (in_pandas(sometimes, MEAN), {}),
    "columns in order by setting": (in_pandas(named, "a double, b long"), {BY_NAME: "false"}),
    "nothing for some groups": (in_pandas(half_empty, MEAN), {}),
    "whole numbers with gaps as pandas has them": (
        lambda df, by: by(df.withColumn("w", F.expr("if(v > 25, v, null)")), "id").applyInPandas(
            kinds_of_columns, KINDS
        ),
        {EXTENSION: "true"},
    ),
    "columns without rows for every group": (in_pandas(without_rows, MEAN), {}),
    "columns without rows that may not be null": (
        in_pandas(without_rows, T.StructType().add("id", "long", False).add("mean", "double")),
        {},
    ),
    "an argument by keyword only": (in_pandas(scaled, MEAN), {}),
    "a schema as an object": (
        in_pandas(named, T.StructType().add("id", "long").add("mean", "double")),
        {},
    ),
    "a truth as key": (in_pandas(kinds_of_key, KINDS, "id % 2 = 0"), {}),
    "keys of two types": (
        in_pandas(kinds_of_key, KINDS, "id", "v % 2"),
        {},
    ),
    "no keys at all": (
        lambda df, by: by(df).applyInPandas(kinds_of_key, KINDS),
        {},
    ),
    "a list of keys": (in_pandas(kinds_of_key, KINDS, ["id", "v"]), {}),
    "keys in another case": (in_pandas(kinds_of_key, KINDS, "ID"), {}),
    "a key by its number": (in_pandas(named, MEAN, 1), {}),
    "a window as key": (
        lambda df, by: by(
            df.withColumn("t", F.timestamp_seconds("v")), "id", F.window("t", "5 seconds")
        ).applyInPandas(kinds_of_key, KINDS),
        {},
    ),
    "groups in pieces": (in_pandas(halves, MEAN), {BATCH: "3"}),
    "groups in pieces with their key": (in_pandas(keyed_halves, MEAN), {BATCH: "3"}),
    "pieces that are not all taken": (in_pandas(first_piece, MEAN), {BATCH: "3"}),
    "batches of any size": (in_pandas(named, MEAN), {BATCH: "0"}),
    "whole numbers as decimals": (
        in_pandas(one_for_mean, "id long, mean decimal(10,2)"),
        {TO_DECIMAL: "true"},
    ),
    "whole numbers not as decimals": (
        in_pandas(one_for_mean, "id long, mean decimal(10,2)"),
        {TO_DECIMAL: "false"},
    ),
    "an error of the function": (in_pandas(failing, MEAN), {}),
    "no frame": (in_pandas(listed, MEAN), {}),
    "no frames from pieces": (in_pandas(no_frames, MEAN), {}),
    "wrong names": (in_pandas(wrong_names, MEAN), {}),
    "too many columns": (in_pandas(too_many, MEAN), {}),
    "text for a number": (in_pandas(text_for_mean, MEAN), {SAFELY: "true"}),
    "text for a number, unsafely": (in_pandas(text_for_mean, MEAN), {SAFELY: "false"}),
    "a number for text": (in_pandas(named, "id long, mean string"), {}),
    "a function without arguments": (in_pandas(lambda: 1, MEAN), {}),
    "a function of any arguments": (in_pandas(lambda *any_: 1, MEAN), {}),
    "a function of too many arguments": (in_pandas(lambda a, b, c: 1, MEAN), {}),
    "a schema that is no row": (in_pandas(named, "long"), {}),
    "a schema that is no schema": (in_pandas(named, 7), {}),
    "a type that pandas cannot hold": (
        in_pandas(named, T.StructType().add("v", T.ArrayType(T.YearMonthIntervalType()))),
        {},
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", list(PANDAS))
def test_functions_of_pandas_frames(spark: SparkSession, data: DataFrame, name: str) -> None:
    scenario, settings = PANDAS[name]
    same(spark, data, scenario, settings)


@pytest.mark.parametrize("name", ["columns by name in some groups", "wrong names"])
def test_results_and_mistakes_of_functions(spark: SparkSession, data: DataFrame, name: str) -> None:
    scenario, settings = PANDAS[name]
    same(spark, data, scenario, settings)


def kept(group: pa.Table) -> pa.Table:
    return group


def arrow_size(key: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
    return pa.table({"id": [key[0].as_py()], "n": [group.num_rows]})


def arrow_pieces(
    key: tuple[pa.Scalar, ...], pieces: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for piece in pieces:
        yield pa.RecordBatch.from_pydict({"id": [key[0].as_py()], "n": [piece.num_rows]})


def arrow_key(key: tuple[pa.Scalar, ...], group: pa.Table) -> Any:
    return key


def arrow_list(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return list(pieces)  # type: ignore[return-value]


def arrow_half(key: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
    return arrow_size(key, group) if key[0].as_py() % 2 else pa.table([])


SIZE = "id long, n long"
TABLES: dict[str, tuple[Scenario, dict[str, str]]] = {
    "whole groups": (in_arrow(kept, "id long, v int"), {}),
    "a key that is an expression": (in_arrow(arrow_size, SIZE, "id % 4"), {}),
    "no keys at all": (lambda df, by: by(df).applyInArrow(kept, "id long, v int"), {}),
    "pieces with their key": (in_arrow(arrow_pieces, SIZE), {BATCH: "3"}),
    "nothing for some groups": (in_arrow(arrow_half, SIZE), {}),
    "columns in order by setting": (in_arrow(kept, "a long, b int"), {BY_NAME: "false"}),
    "no table": (in_arrow(arrow_key, SIZE), {}),
    "a list for an iterator": (in_arrow(arrow_list, SIZE), {}),
    "wrong names": (in_arrow(arrow_size, "id long, m long"), {}),
    "wrong types": (in_arrow(arrow_size, "id int, n long"), {}),
    "a function without arguments": (in_arrow(lambda: 1, SIZE), {}),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", list(TABLES))
def test_functions_of_arrow_tables(spark: SparkSession, data: DataFrame, name: str) -> None:
    scenario, settings = TABLES[name]
    same(spark, data, scenario, settings)


def both_sizes(left: Any, right: Any) -> Any:
    made = {"l": [len(left)], "r": [len(right)]}
    return pd.DataFrame(made) if isinstance(left, pd.DataFrame) else pa.table(made)


def keyed_sizes(key: tuple[Any, ...], left: Any, right: Any) -> Any:
    return both_sizes(left, right)


def no_result(left: Any, right: Any) -> Any:
    return 1


SIZES = "l long, r long"
PAIRS: dict[str, tuple[Callable[..., Any], str, tuple[Any, ...]]] = {
    "equal keys": (both_sizes, SIZES, ("id",)),
    "equal keys, given to the function": (keyed_sizes, SIZES, ("id", "v")),
    "keys that are expressions": (both_sizes, SIZES, ("id % 2 = 0",)),
    "no keys at all": (both_sizes, SIZES, ()),
    "no result": (no_result, SIZES, ("id",)),
    "wrong names": (both_sizes, "l long, m long", ("id",)),
    "a function without arguments": (lambda: 1, SIZES, ("id",)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["applyInPandas", "applyInArrow"])
@pytest.mark.parametrize("name", list(PAIRS))
def test_pairs_of_groups(spark: SparkSession, data: DataFrame, name: str, method: str) -> None:
    func, schema, keys = PAIRS[name]
    same(spark, data, paired(func, schema, *keys, method=method))


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["applyInPandas", "applyInArrow"])
def test_pairs_of_groups_of_one_frame(spark: SparkSession, data: DataFrame, method: str) -> None:
    def scenario(df: DataFrame, by: GroupBy) -> DataFrame:
        pair = by(df, "Id").cogroup(by(df, "ID"))
        made: DataFrame = getattr(pair, method)(both_sizes, SIZES)
        return made.join(made)

    same(spark, data, scenario)


def test_pairs_of_groups_by_keys_of_another_number(spark: SparkSession, data: DataFrame) -> None:
    def scenario(df: DataFrame, by: GroupBy) -> DataFrame:
        pair = by(df, "id", "v").cogroup(by(df, "id"))
        result: DataFrame = pair.applyInPandas(both_sizes, SIZES)
        return result

    assert "must have same size: 2 != 1" in str(same(spark, data, scenario))


@pytest.mark.filterwarnings("ignore:It is preferred to use 'applyInPandas'")
@pytest.mark.filterwarnings("ignore:In Python 3.6")
def test_apply_takes_a_pandas_udf_of_groups_and_nothing_else(
    spark: SparkSession, data: DataFrame
) -> None:
    grouped_map = F.PandasUDFType.GROUPED_MAP
    normal = F.pandas_udf(lambda g: g.assign(v=g.v - g.v.mean()), "id long, v double", grouped_map)
    with_key = F.pandas_udf(lambda k, g: g.assign(v=k[0]), "id long, v long", grouped_map)
    no_key = F.pandas_udf(lambda g: pd.DataFrame([len(g)]), "n int", grouped_map)
    columns, found = same(spark, data, lambda df, by: by(df, "id").apply(normal))
    assert len(columns) == 2
    assert sum(found.values()) == 100
    same(spark, data, lambda df, by: by(df, "id").apply(with_key))
    same(spark, data, lambda df, by: by(df).apply(no_key))
    for wrong in (
        lambda g: g,
        F.udf(lambda x: x, "double"),
        F.sum("v"),
        F.pandas_udf(lambda x: x, "double", F.PandasUDFType.SCALAR),
    ):
        raised = same(spark, data, lambda df, by, wrong=wrong: by(df, "id").apply(wrong))
        assert raised[0] == "PySparkTypeError"
    with pytest.warns(UserWarning, match="preferred to use 'applyInPandas'"):
        ours(data, "id").apply(normal)


@pytest.mark.exhaustive
def test_functions_see_every_type_that_they_see_in_spark(spark: SparkSession) -> None:
    schema = (
        "id int, b byte, s short, l long, f float, d double, n decimal(10,3), a array<int>, "
        "t boolean, c string, x binary, v void, m map<string,int>, day date, at timestamp"
    )
    row = (
        *(1, 2, 3, 4, 1.1, 2.2, decimal.Decimal("1.123"), [1, 2, 2], True, "hello"),
        *(bytearray([1, 2]), None, {"k": 1}, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)),
    )
    df = spark.createDataFrame([row, (2, *[None] * 14)], schema)

    def described(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"seen": [repr((key, dict(group.dtypes), group.to_dict()))]})

    same(spark, df, in_pandas(described, "seen string"))
    same(
        spark, df, in_pandas(lambda group: group.drop(columns="v"), schema.replace("v void, ", ""))
    )


@pytest.mark.exhaustive
def test_aggregates_and_their_names(spark: SparkSession, data: DataFrame) -> None:
    mixed = data.selectExpr("id", "v", "v / 2.0 AS half", "named_struct('a', v) AS s", "'x' AS t")
    for scenario in (
        lambda df, by: by(df, "id").agg({"v": "mean", "half": "std", "*": "count"}),
        lambda df, by: by(df, "id").agg({"v": "collect_list"}),
        lambda df, by: by(df, "id").agg({"s.a": "max"}),
        lambda df, by: by(df, "id").agg({"v": "no_such_function"}),
        lambda df, by: by(df).agg(F.sum("v"), F.countDistinct("id")),
        lambda df, by: by(df).count(),
        lambda df, by: by(df, 1, "v").count(),
        lambda df, by: by(df, 0),
        lambda df, by: by(df, 6),
        lambda df, by: by(df, "id").sum(),
        lambda df, by: by(df, "id").mean("v", "half"),
        lambda df, by: by(df, "id").avg("v"),
        lambda df, by: by(df, F.col("id") % 2).min("v"),
        lambda df, by: by(df).max("half"),
        lambda df, by: by(df, "id").sum("t"),
        lambda df, by: by(df, "id").pivot("v").sum("half"),
        lambda df, by: by(df, "id").pivot("v", [20, 21]).agg(F.count("*"), F.max("half")),
        lambda df, by: by(df, "id").pivot("nope").count(),
        lambda df, by: by(df, "id").pivot("v").pivot("t").count(),
    ):
        same(spark, mixed, scenario)


@pytest.mark.exhaustive
def test_what_became_of_groups_joins_with_itself(spark: SparkSession, data: DataFrame) -> None:
    def joined(df: DataFrame, by: GroupBy) -> DataFrame:
        made = by(df, "id").applyInPandas(named, MEAN)
        return made.alias("a").join(made.alias("b"), F.col("a.id") == F.col("b.id"))

    same(spark, data, joined)


@pytest.mark.exhaustive
def test_groups_made_of_columns_that_python_has_made(spark: SparkSession) -> None:
    df = spark.range(10).select("id", F.udf(lambda x: x % 3, "long")("id").alias("k"))
    same(spark, df, in_pandas(kinds_of_key, KINDS, "k"))
