from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import types as T

from trimtab.spark import Batch, Sink
from trimtab.spark.stream.sinks.with_batch_column import WithBatchColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


class Noted(Sink):
    def __init__(self) -> None:
        self.calls: list[object] = []

    def prepare(self, schema: T.StructType, session: SparkSession) -> None:
        self.calls.append(schema.simpleString())

    def open(self, query: str) -> None:
        self.calls.append(query)

    def has(self, number: int) -> bool:
        return number == 7

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        self.calls.append(None if results is None else [tuple(row) for row in results.collect()])


def test_rows_are_handed_on_with_the_number_of_their_batch(spark: SparkSession) -> None:
    inner = Noted()
    sink = WithBatchColumn(inner, "batch")
    sink.prepare(T.StructType([T.StructField("x", T.LongType())]), spark)
    sink.open("query")
    assert (sink.has(7), sink.has(8)) == (True, False)
    batch = Batch(8, 2, None, "hash", None, None)
    sink.write(spark.range(2), batch, spark)
    sink.write(None, batch, spark)
    assert inner.calls == ["struct<x:bigint>", "query", [(0, 8), (1, 8)], None]
