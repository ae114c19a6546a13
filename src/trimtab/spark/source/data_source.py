"""The data source that Spark is given: a class that travels whole and asks Trimtab for all it does.

Spark sends the class to Python processes beside the driver and in the executors, as a pickle. One
that names Trimtab's modules could not even be read where Trimtab is missing. So the classes are
made inside a function, travel by value, and import Trimtab when they are first asked something.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from trimtab.spark.shipping import MISSING

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, SupportsTriggerAvailableNow
except ImportError:  # Spark 4.1 has no limits for sources in Python
    ReadAllAvailable = None
    SupportsTriggerAvailableNow = object

__all__ = [
    "FORMAT",
    "HAS_LIMITS",
    "LOGS",
    "MAX_BATCHES",
    "ReadAllAvailable",
    "SupportsTriggerAvailableNow",
    "received_source",
]

HAS_LIMITS = ReadAllAvailable is not None
"""Whether this Spark tells a source where a batch begins, so that it can say where it ends."""

FORMAT = "trimtab"
"""What Spark knows the source by."""

LOGS, MAX_BATCHES = "logs", "max_batches"
"""Names of its options: the logs as a JSON list, and batches of each log in a trigger at most."""


def received_source() -> type[DataSource]:
    """Return the class of the data source, made anew so that it travels by value."""
    missing, name = MISSING, FORMAT
    whole_log = ReadAllAvailable

    def opened(options: MutableMapping[str, str], schema: StructType | None = None) -> Any:
        import importlib.util

        if importlib.util.find_spec("trimtab") is None:
            raise RuntimeError(missing)
        from trimtab.receive.reading import LogReader

        columns = None
        if schema is not None:
            names = ["`" + field.name.replace("`", "``") + "`" for field in schema]
            kinds = [field.dataType.simpleString() for field in schema]
            columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
        return LogReader.of_options(options, columns)

    class Opened:
        """Opens the logs when they are first asked for, in whatever process that is."""

        def __init__(self, options: MutableMapping[str, str], schema: StructType) -> None:
            self.options, self.schema = options, schema
            self.logs: Any = None

        def __getstate__(self) -> dict[str, Any]:
            # What is open in the process that plans is opened again in those that read.
            return {**self.__dict__, "logs": None}

        def opened(self) -> Any:
            if self.logs is None:
                self.logs = opened(self.options, self.schema)
            return self.logs

        def read(self, partition: InputPartition) -> Iterator[Any]:
            found: Iterator[Any] = self.opened().read(partition.value)
            return found

    class ReceivedStream(Opened, DataSourceStreamReader, SupportsTriggerAvailableNow):
        """What Spark asks while a stream runs: positions, blocks between two, what is done."""

        def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
            found: dict[str, Any] = self.opened().first()
            return found

        def latestOffset(  # noqa: N802 - Spark 4.1 gives neither
            self, start: dict[str, Any] | None = None, limit: Any = None
        ) -> dict[str, Any]:
            found: dict[str, Any] = self.opened().after(start)
            return found

        def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's name
            # Limits of Spark's own speak of rows or files; ours, of batches, is an option.
            return whole_log()

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
            self.opened().stop_at_newest()

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
            return [InputPartition(part) for part in self.opened().parts(start, end)]

        def commit(self, end: dict[str, Any]) -> None:
            self.opened().commit(end)

        def stop(self) -> None:
            self.logs = None

    class ReceivedRows(Opened, DataSourceReader):
        """What Spark asks for a frame of all that is in the logs now."""

        def partitions(self) -> list[InputPartition]:
            logs = self.opened()
            return [InputPartition(part) for part in logs.parts(logs.first(), logs.newest())]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            # Without blocks Spark makes one partition that holds nothing.
            return iter(()) if partition.value is None else super().read(partition)

    class Received(DataSource):
        """The logs of receivers."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            found: str = opened(self.options).schema
            return found

        def reader(self, schema: StructType) -> DataSourceReader:
            return ReceivedRows(self.options, schema)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return ReceivedStream(self.options, schema)

    return Received
