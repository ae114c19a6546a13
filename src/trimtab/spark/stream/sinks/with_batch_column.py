"""A sink whose rows also say which batch they are of."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.sinks.base import Sink


class WithBatchColumn(Sink):
    """Add the number of the batch to every row, and hand the rows on.

    Parameters
    ----------
    inner
        The sink that writes them.
    name
        Name of the column.
    """

    def __init__(self, inner: Sink, name: str) -> None:
        self.inner = inner
        self.name = name

    def prepare(self, schema: T.StructType, session: SparkSession) -> None:
        """Prepare the inner sink."""
        self.inner.prepare(schema, session)

    def open(self, query: str) -> None:
        """Open the inner sink."""
        self.inner.open(query)

    def has(self, number: int) -> bool:
        """Ask the inner sink."""
        return self.inner.has(number)

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        """Write the rows with their batch's number."""
        if results is not None:
            results = results.withColumn(self.name, F.lit(batch.id).cast("long"))
        self.inner.write(results, batch, session)
