"""A function of the user's as a sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from trimtab.errors import InvalidArgument
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.sinks.base import Sink


class FunctionSink(Sink):
    """The user's own function of the results and the batch.

    A batch that did not come to its end runs again after a restart: the function must then write
    over what it wrote under the same `batch.id`.

    Parameters
    ----------
    function
        Called as `function(results, batch)` for every batch that has results.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> stream = tt.stream(rows, "value", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> numbers = stream.apply(lambda rows: rows[["value"]], "value long")
    >>> sink = tt.FunctionSink(
    ...     lambda results, batch: results.write.mode("overwrite").json(f"{tmp}/batch={batch.id}")
    ... )
    >>> numbers.start(sink=sink, trigger={"availableNow": True}).awaitTermination()
    >>> spark.read.json(tmp + "/batch=0").count()
    9
    """

    def __init__(self, function: object) -> None:
        if not callable(function):
            raise InvalidArgument(f"function must be a function(results, batch); got {function!r}")
        self.function: Callable[..., Any] = function

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        """Call the function."""
        if results is not None:
            self.function(results, batch)
