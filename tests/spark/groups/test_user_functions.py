"""Users' functions: called, refused and named as Spark calls, refuses and names them."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PySparkNotImplementedError, PySparkTypeError, PySparkValueError
from pyspark.sql import types as T

from tests.conftest import CONNECT
from tests.spark.frames import session_setting
from trimtab.errors import InvalidArgument
from trimtab.spark import group_by
from trimtab.spark.groups.user_functions import (
    ARROW,
    PANDAS,
    named_after,
    refuse_as_spark_does,
    takes_iterator,
    takes_key,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Model:
    """Something with a method for groups, and which can be called itself."""

    def predict(self, group: pd.DataFrame) -> pd.DataFrame:
        return group

    def predict_with_key(self, key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
        return group

    def __call__(self, group: pd.DataFrame) -> pd.DataFrame:
        return group


def with_option(group: pd.DataFrame, *, option: int = 1) -> pd.DataFrame:
    return group


def wrapped(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def keyless(group: pd.DataFrame) -> Any:
        return func((), group)

    return keyless


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        pytest.param(lambda group: group, False, id="a frame"),
        pytest.param(lambda key, group: group, True, id="a key and a frame"),
        pytest.param(with_option, False, id="an option that has no place does not count"),
        pytest.param(Model().predict, False, id="a method"),
        pytest.param(Model().predict_with_key, True, id="a method with a key"),
        pytest.param(Model(), False, id="an object"),
        pytest.param(functools.partial(lambda key, group: group, ()), False, id="a key is given"),
        pytest.param(wrapped(lambda key, group: group), False, id="what is wrapped does not count"),
    ],
)
def test_who_asks_for_the_key(func: Callable[..., Any], expected: bool) -> None:
    assert takes_key(func) is expected


def test_what_has_no_arguments_to_see() -> None:
    with pytest.raises(TypeError, match="unsupported callable"):
        takes_key(dict)


def pandas_pieces(pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    return pieces


def arrow_pieces(key: Any, pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return pieces


def half_said(pieces: Iterator[pd.DataFrame]):  # type: ignore[no-untyped-def]
    return pieces


def test_who_takes_a_group_in_pieces() -> None:
    assert takes_iterator(pandas_pieces, PANDAS)
    assert takes_iterator(arrow_pieces, ARROW)
    assert not takes_iterator(arrow_pieces, PANDAS)
    assert not takes_iterator(lambda group: group, PANDAS)
    # Spark reads hints that are complete, and gives a whole frame to all others.
    assert not takes_iterator(half_said, PANDAS)


@pytest.mark.spark
@pytest.mark.both
@pytest.mark.parametrize(
    ("func", "schema", "method", "frames", "error", "words"),
    [
        (lambda: 1, "x long", PANDAS, 1, PySparkValueError, "groupby.applyInPandas must take"),
        (lambda *a: 1, "x long", PANDAS, 1, PySparkValueError, "groupby.applyInPandas must take"),
        (lambda a, b, c: 1, "x long", ARROW, 1, PySparkValueError, "groupby.applyInArrow must"),
        (lambda a: 1, "x long", PANDAS, 2, PySparkValueError, "cogroup.applyInPandas must take"),
        (lambda a, b, c, d: 1, "x long", ARROW, 2, PySparkValueError, "cogroup.applyInArrow must"),
        (lambda a: 1, "long", PANDAS, 1, PySparkTypeError, "should return StructType"),
        (lambda a: 1, 7, PANDAS, 1, PySparkTypeError, "should be DataType or str"),
        (
            lambda a: 1,
            T.StructType().add("x", T.ArrayType(T.YearMonthIntervalType())),
            PANDAS,
            1,
            PySparkNotImplementedError,
            "Invalid return type",
        ),
        (
            "text",
            "x long",
            PANDAS,
            1,
            InvalidArgument,
            "takes a function; got 'text'",
        ),
    ],
)
def test_refusals(
    spark: SparkSession,
    func: Any,
    schema: Any,
    method: str,
    frames: int,
    error: type[Exception],
    words: str,
) -> None:
    with pytest.raises(error) as raised:
        refuse_as_spark_does(func, schema, method, frames)
    assert words in str(raised.value)


@pytest.mark.spark
def test_what_spark_takes_is_taken(spark: SparkSession) -> None:
    for func in (Model().predict, Model(), with_option, pandas_pieces):
        refuse_as_spark_does(func, "x long", PANDAS)
    refuse_as_spark_does(arrow_pieces, "x long", ARROW)


def test_a_wrapper_has_the_name_of_what_it_calls() -> None:
    def outer(group: Any) -> Any:
        return group

    renamed = named_after(outer, functools.partial(with_option, option=2))
    assert renamed.__name__ == renamed.__code__.co_name == "with_option"
    assert renamed(3) == 3


@pytest.mark.spark
@pytest.mark.skipif(CONNECT, reason="worker logs of a local server come in their own time")
@pytest.mark.parametrize("nested", [False, True], ids=["in one pass", "by Spark's call"])
def test_log_lines_of_workers_name_the_users_function(spark: SparkSession, nested: bool) -> None:
    def talkative(group: pd.DataFrame) -> pd.DataFrame:
        logging.getLogger("of a group").warning("%d rows", len(group))
        return group[["id"]]

    df = spark.range(9).selectExpr("id", "id % 2 as k", f"{'array(id)' if nested else 'id'} as x")
    with session_setting(spark, "spark.sql.pyspark.worker.logging.enabled", "true"):
        ours = group_by(df, "k", lanes=2).applyInPandas(talkative, "id long")
        assert ours.count() == 9
        found = logged(spark)
    assert found == {("WARNING", "4 rows", "talkative"), ("WARNING", "5 rows", "talkative")}


def logged(spark: SparkSession) -> set[tuple[str, str, str]]:
    """Return lines of the workers' log; they become visible a while after they were written."""
    for _ in range(50):
        lines: DataFrame = spark.tvf.python_worker_logs().where("logger = 'of a group'")
        found = {(r["level"], r["msg"], r["context"]["func_name"]) for r in lines.collect()}
        if len(found) > 1:
            break
        time.sleep(0.2)
    return found
