"""Rows on the driver as a sink: for tests and small results."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.spark.session_facts import is_connect
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.sinks.base import Sink


class MemorySink(Sink):
    """Rows on the driver, as a temporary view; those of this process alone.

    Parameters
    ----------
    name
        Name of the view, in the session that starts the query.

    Attributes
    ----------
    latest_only
        Whether the view shows the latest batch alone: where every batch gives all results, those of
        earlier ones could not be told apart from them.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> stream = tt.stream(rows, "value", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> numbers = stream.apply(lambda rows: rows[["value"]], "value long")
    >>> sink = tt.MemorySink("numbers")
    >>> numbers.start(sink=sink, trigger={"availableNow": True}).awaitTermination()
    >>> spark.table("numbers").count()
    9
    """

    def __init__(self, name: object) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidArgument(f"memory must be a name for the view; got {name!r}")
        self.name = name
        self.latest_only = False
        self._batches: dict[int, pa.Table] = {}

    def prepare(self, schema: T.StructType, session: SparkSession) -> None:
        """Keep the session that is to see the view."""
        if is_connect(session):
            raise InvalidArgument("the memory sink needs Spark Classic; use path or function")
        self._schema, self._session = schema, session

    def open(self, query: str) -> None:
        """Show an empty view."""
        self._session.createDataFrame([], self._schema).createOrReplaceTempView(self.name)

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        """Keep the rows of a batch, in place of those of an earlier try."""
        if results is None:
            return
        if self.latest_only:
            self._batches.clear()
        self._batches[batch.id] = results.toArrow()
        whole = pa.concat_tables([self._batches[number] for number in sorted(self._batches)])
        shown = self._session.createDataFrame(whole, self._schema)
        shown.createOrReplaceTempView(self.name)
