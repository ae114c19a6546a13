"""The contract of every sink: a place for results that holds each batch exactly once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.spark.stream.batch import Batch


class Sink(ABC):
    """A place for the results of a stream.

    A sink is made by the user and given to `Startable.start(sink=...)`. Then, in this order:
    `prepare` on the driver, before the query starts; `open` when the query starts or starts again;
    `write` once per batch, in the order of batches, and again with the same batch after a crash.

    On Spark Connect everything after `prepare` happens in a process beside the server: a sink must
    be picklable from then on.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> stream = tt.stream(rows, "value", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> numbers = stream.apply(lambda rows: rows[["value"]], "value long")
    >>> class JsonSink(tt.Sink):
    ...     def write(self, results, batch, session):
    ...         results.write.mode("overwrite").json(f"{tmp}/batch={batch.id}")
    >>> numbers.start(sink=JsonSink(), trigger={"availableNow": True}).awaitTermination()
    >>> spark.read.json(tmp + "/batch=0").count()
    9
    """

    by_spark_alone: ClassVar[bool] = False
    """Whether a batch is written by one job of Spark's own writer: none of a user's code runs in
    the session of the batch meanwhile, so that its settings may be others."""

    def prepare(  # noqa: B027 - some sinks need no schema
        self, schema: T.StructType, session: SparkSession
    ) -> None:
        """Learn the type of the results, and refuse what can not work before anything runs."""

    def open(self, query: str) -> None:  # noqa: B027 - some sinks have nothing to check
        """Check, when the query with this id starts, that the place is there for it."""

    def has(self, number: int) -> bool:
        """Tell whether the results of a batch are there already."""
        return False

    @abstractmethod
    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        """Write the results of a batch; None means that it has none.

        Writing the same batch again must change nothing that a reader sees.
        """
