"""A directory of Parquet files, each batch visible at once or not at all."""

from __future__ import annotations

import json
import os
import time
import uuid
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.errors import CorruptState, InvalidArgument, NotThere
from trimtab.journal import moments
from trimtab.journal.store import Store, store
from trimtab.journal.store.choice import needs_session
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.sinks.base import Sink
from trimtab.spark.stream.sinks.file_log import FileLog

OWNER = "_trimtab_query"
"""The file that says which query's results a directory holds."""


class ParquetSink(Sink):
    """A directory of Parquet files that Spark, and everyone else, reads as one table.

    Files are named by their batch. They become visible to Spark's readers all at once with one
    entry in the log that Spark's own file sink keeps. A batch that is in the log is done; files of
    a batch that is not are taken away before it is written again, so that readers that do not know
    the log see no row twice either.

    Parameters
    ----------
    path
        The directory, or an address such as `s3a://bucket/results` or `hdfs:/results`. It must be
        empty, or hold what this query wrote.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> stream = tt.stream(rows, "value", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> numbers = stream.apply(lambda rows: rows[["value"]], "value long")
    >>> sink = tt.ParquetSink(tmp + "/numbers")
    >>> numbers.start(sink=sink, trigger={"availableNow": True}).awaitTermination()
    >>> spark.read.parquet(tmp + "/numbers").count()
    9
    """

    by_spark_alone = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        needs_session(path)  # what is no address is refused here
        self.path = os.fspath(path)
        self._schema = T.StructType()
        self._store: Store | None = None

    def prepare(self, schema: T.StructType, session: SparkSession) -> None:
        """Open the place, and keep the type of the results: an empty directory has one, too."""
        self._schema = schema
        self._store = store(self.path, session)

    @property
    def store(self) -> Store:
        """The place, once it has been opened."""
        assert self._store is not None  # `prepare` comes first
        return self._store

    def open(self, query: str) -> None:
        """Refuse a directory that holds what this query did not write."""
        try:
            owner = self.store.read_file(OWNER).decode(errors="replace").strip()
        except NotThere:
            strangers = sorted(self.store.entries())
            if strangers:
                raise InvalidArgument(
                    f"path {self.store.uri!r} holds {strangers[0]!r}, which this query did not "
                    "write; give an empty directory"
                ) from None
            self.store.write_file(OWNER, query.encode())
            return
        if owner != query:
            raise InvalidArgument(
                f"path {self.store.uri!r} holds the results of another query, or of another "
                "checkpoint of this one; give an empty directory"
            )

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        """Write the files of a batch and show them, unless that has been done."""
        number = batch.id
        log = FileLog(self.store)
        done = log.last()
        if number <= done:
            return
        if number != done + 1:
            raise CorruptState(
                f"{log.uri} ends with batch {done}, but batch {number} is to be written: "
                "output and checkpoint do not belong together"
            )
        for left_over in self._files(_prefix(number)):
            self.store.remove_file(left_over)
        # Else Hadoop would bring what tasks of an interrupted job have left there into this one.
        self.store.remove_folder("_temporary")
        if results is None and number == 0:
            # Without one file a reader could not tell the schema.
            results = session.createDataFrame([], self._schema)
        written: dict[str, int] = {}
        if results is not None:
            # The name of no other attempt begins like this, be it another driver's.
            names = f"{_prefix(number)}{uuid.uuid4().hex[:12]}"
            writer = results.write.mode("append").option("mapreduce.output.basename", names)
            writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
            writer.parquet(self.store.uri)
            moments.at("results written", number)
            written = self._files(names)
        moments.at("results listed", number)
        now = time.time_ns() // 1_000_000
        log.append(number, [_entry(self.store.uri, name, written[name], now) for name in written])

    def has(self, number: int) -> bool:
        """Tell whether a batch is in the log."""
        return number <= FileLog(self.store).last()

    def _files(self, prefix: str) -> dict[str, int]:
        """Return the files whose names begin so, with their sizes."""
        found = self.store.sizes("", after=prefix)
        return {name: size for name, size in found.items() if name.startswith(prefix)}


def _prefix(number: int) -> str:
    return f"part-batch-{number:010d}-"


def _entry(uri: str, name: str, size: int, now: int) -> str:
    scheme, _, path = uri.partition(":")
    entry = {
        "path": f"{scheme}:{quote(f'{path}/{name}')}",
        "size": size,
        "isDir": False,
        "modificationTime": now,
        "blockReplication": 1,
        "blockSize": 33_554_432,
        "action": "add",
    }
    return json.dumps(entry, separators=(",", ":"))
