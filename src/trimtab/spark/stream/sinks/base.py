"""Where the results of a stream go, each batch exactly once."""

from __future__ import annotations

import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.errors import CorruptState, InvalidArgument
from trimtab.journal import checkpoint
from trimtab.journal.checkpoint import local_path, sync_directory, write_whole
from trimtab.spark.columns import quoted

LOG = "_spark_metadata"
"""Where Spark's own file sink lists the files of each batch, and where Spark's readers look."""

OWNER = "_trimtab_query"
"""The file that says which query's results a directory holds."""

COMPACT_EVERY = 10
"""Spark reads every tenth entry as one that holds all before it."""


class Sink(ABC):
    """A place for results; `write` with the same batch again must change nothing."""

    @abstractmethod
    def write(self, results: DataFrame | None, batch: Any, session: SparkSession) -> None:
        """Write the results of a batch; None means that it has none."""

    def has(self, number: int) -> bool:
        """Say whether the results of a batch are there already."""
        return False

    def open(self, query: str) -> None:  # noqa: B027 - some sinks have nothing to check
        """Check, when the query with this id starts, that the place is there for it."""


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
    schema
        Type of the results: an empty directory has a schema too.
    """

    def __init__(self, path: object, schema: T.StructType) -> None:
        self.path = local_path(path, "path")
        self.schema = schema

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

    def write(self, results: DataFrame | None, batch: Any, session: SparkSession) -> None:
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
            results = session.createDataFrame([], self.schema)
        moved = []
        if results is not None:
            results.write.mode("overwrite").parquet(str(staging))
            checkpoint.at("results written", number)
            found = sorted(p for p in staging.iterdir() if p.suffix == ".parquet")
            for count, part in enumerate(found):
                target = self.path / f"{_prefix(number)}{count:05d}.parquet"
                os.replace(part, target)
                moved.append(target)
            sync_directory(self.path)
        checkpoint.at("results moved", number)
        self._log(number, moved)
        shutil.rmtree(staging, ignore_errors=True)

    def has(self, number: int) -> bool:
        """Say whether a batch is in the log."""
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


class TableSink(ParquetSink):
    """A table of the catalogue, in Parquet; it is made if it is not there.

    Parameters
    ----------
    name
        Name of the table.
    schema
        Type of the results.
    session
        The session whose catalogue is meant.
    """

    def __init__(self, name: object, schema: T.StructType, session: SparkSession) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"table must be the name of a table; got {name!r}")
        if not session.catalog.tableExists(name):
            fields = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in schema)
            session.sql(f"CREATE TABLE {name} ({fields}) USING parquet")
        facts = {
            row["col_name"]: row["data_type"]
            for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        }
        if facts.get("Provider", "").lower() != "parquet" or "Location" not in facts:
            raise InvalidArgument(
                f"table {name!r} is kept as {facts.get('Provider', 'a view')}; tables in parquet "
                "can be written exactly once; for others give a function that writes by batch id"
            )
        found = session.table(name).schema
        if found.simpleString() != schema.simpleString():
            raise InvalidArgument(
                f"table {name!r} has the columns {found.simpleString()}, the results have "
                f"{schema.simpleString()}"
            )
        place = facts["Location"].removeprefix("file:")
        super().__init__("/" + place.lstrip("/"), schema)
        self.name = name
        # A session remembers the files of a table that it has read. On Spark Connect the batch's
        # own session is the user's, and this one could not travel there.
        self._session = None if is_connect(session) else session

    def write(self, results: DataFrame | None, batch: Any, session: SparkSession) -> None:
        """Write the files of a batch, and let the session that started the query see them."""
        super().write(results, batch, session)
        (self._session or session).catalog.refreshTable(self.name)


class MemorySink(Sink):
    """Rows on the driver, as a temporary view: for tests and small results.

    Parameters
    ----------
    name
        Name of the view.
    session
        The session that is to see the view.
    """

    def __init__(self, name: object, schema: T.StructType, session: SparkSession) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidArgument(f"memory must be a name for the view; got {name!r}")
        self.name = name
        self.schema = schema
        self._session = session
        self._batches: dict[int, pa.Table] = {}

    def open(self, query: str) -> None:
        """Show an empty view."""
        self._session.createDataFrame([], self.schema).createOrReplaceTempView(self.name)

    def write(self, results: DataFrame | None, batch: Any, session: SparkSession) -> None:
        """Keep the rows of a batch, in place of those of an earlier try."""
        if results is None:
            return
        self._batches[batch.id] = results.toArrow()
        whole = pa.concat_tables([self._batches[number] for number in sorted(self._batches)])
        shown = self._session.createDataFrame(whole, self.schema)
        shown.createOrReplaceTempView(self.name)


class FunctionSink(Sink):
    """The user's own function of the results and the batch.

    A batch that did not come to its end runs again after a restart: the function must then write
    over what it wrote under the same `batch.id`.

    Parameters
    ----------
    function
        Called as `function(results, batch)` for every batch that has results.
    """

    def __init__(self, function: object) -> None:
        if not callable(function):
            raise InvalidArgument(f"function must be a function(results, batch); got {function!r}")
        self.function: Callable[..., Any] = function

    def write(self, results: DataFrame | None, batch: Any, session: SparkSession) -> None:
        """Call the function."""
        if results is not None:
            self.function(results, batch)


def is_connect(of_spark: object) -> bool:
    """Say whether a session or frame is one of Spark Connect."""
    return type(of_spark).__module__.startswith("pyspark.sql.connect")


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
