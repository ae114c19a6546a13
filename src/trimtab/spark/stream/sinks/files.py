"""A directory of Parquet files, each batch visible at once or not at all."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal import moments
from trimtab.journal.files import (
    local_path,
    spark_address,
    sync_directory,
    write_whole,
)
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.sinks.base import Sink

LOG = "_spark_metadata"
"""Where Spark's own file sink lists the files of each batch, and where Spark's readers look."""

OWNER = "_trimtab_query"
"""The file that says which query's results a directory holds."""

COMPACT_EVERY = 10
"""Spark reads every tenth entry as one that holds all before it."""


class ParquetSink(Sink):
    """A directory of Parquet files that Spark, and everyone else, reads as one table.

    Files are named by their batch. They are written out of sight, moved, and become visible to
    Spark's readers all at once with one line in the log that Spark's own file sink keeps. A batch
    that is in the log is done; files of a batch that is not are taken away before it is written
    again, so that readers that do not know the log see no row twice either.

    Parameters
    ----------
    path
        The directory. It must be empty, or hold what this query wrote.

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

    def __init__(self, path: object) -> None:
        self.path = local_path(path, "path")
        self._schema = T.StructType()

    def prepare(self, schema: T.StructType, session: SparkSession) -> None:
        """Keep the type of the results: an empty directory has a schema too."""
        self._schema = schema

    def open(self, query: str) -> None:
        """Refuse a directory that holds what this query did not write."""
        if self.path.is_file():
            raise InvalidArgument(f"path {str(self.path)!r} is a file; give a directory")
        self.path.mkdir(parents=True, exist_ok=True)
        owner = self.path / OWNER
        if owner.exists():
            if owner.read_text(encoding="utf-8").strip() != query:
                raise InvalidArgument(
                    f"path {str(self.path)!r} holds the results of another query, or of another "
                    "checkpoint of this one; give an empty directory"
                )
            return
        strangers = sorted(p.name for p in self.path.iterdir() if not p.name.startswith("."))
        if strangers:
            raise InvalidArgument(
                f"path {str(self.path)!r} holds {strangers[0]!r}, which this query did not write; "
                "give an empty directory"
            )
        write_whole(owner, query)

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        """Write the files of a batch and show them, unless that has been done."""
        number = batch.id
        done = self._last()
        if self.has(number):
            return
        if number != done + 1:
            raise CorruptState(
                f"{self.path / LOG} ends with batch {done}, but batch {number} is to be written: "
                "output and checkpoint do not belong together"
            )
        staging = self.path / "_staging"
        shutil.rmtree(staging, ignore_errors=True)
        for left_over in self.path.glob(f"{_prefix(number)}*"):
            left_over.unlink()
        if results is None and number == 0:
            # Without one file a reader could not tell the schema.
            results = session.createDataFrame([], self._schema)
        moved = []
        if results is not None:
            results.write.mode("overwrite").parquet(spark_address(staging))
            moments.at("results written", number)
            found = sorted(p for p in staging.iterdir() if p.suffix == ".parquet")
            for count, part in enumerate(found):
                target = self.path / f"{_prefix(number)}{count:05d}.parquet"
                os.replace(part, target)
                moved.append(target)
            sync_directory(self.path)
        moments.at("results moved", number)
        self._log(number, moved)
        shutil.rmtree(staging, ignore_errors=True)

    def has(self, number: int) -> bool:
        """Tell whether a batch is in the log."""
        return number <= self._last()

    def _log(self, number: int, files: list[Path]) -> None:
        lines = [_entry(path) for path in files]
        if (number + 1) % COMPACT_EVERY == 0:
            lines = [*self._entries(number - 1), *lines]
            write_whole(self.path / LOG / f"{number}.compact", "\n".join(["v1", *lines]))
            self._forget(number - 2 * COMPACT_EVERY)
        else:
            write_whole(self.path / LOG / str(number), "\n".join(["v1", *lines]))

    def _entries(self, last: int) -> list[str]:
        """Return the entries of all batches up to `last`."""
        start = (last + 1) // COMPACT_EVERY * COMPACT_EVERY - 1
        names = [f"{start}.compact"] if start >= 0 else []
        names += [str(number) for number in range(start + 1, last + 1)]
        found: list[str] = []
        for name in names:
            path = self.path / LOG / name
            try:
                version, *lines = path.read_text(encoding="utf-8").split("\n")
            except OSError as error:
                raise CorruptState(f"{path} is missing or cannot be read: {error}") from error
            if version != "v1":
                raise CorruptState(f"{path} is damaged: it does not start with v1")
            found += lines
        return found

    def _forget(self, before: int) -> None:
        for path in (self.path / LOG).iterdir():
            name = path.name.removesuffix(".compact")
            if name.isdigit() and int(name) < before:
                path.unlink(missing_ok=True)

    def _last(self) -> int:
        log = self.path / LOG
        if not log.is_dir():
            return -1
        names = (path.name.removesuffix(".compact") for path in log.iterdir())
        return max((int(name) for name in names if name.isdigit()), default=-1)


def _prefix(number: int) -> str:
    return f"part-batch-{number:010d}-"


def _entry(path: Path) -> str:
    facts = path.stat()
    entry = {
        "path": "file://" + quote(str(path)),
        "size": facts.st_size,
        "isDir": False,
        "modificationTime": facts.st_mtime_ns // 1_000_000,
        "blockReplication": 1,
        "blockSize": 33_554_432,
        "action": "add",
    }
    return json.dumps(entry, separators=(",", ":"))
