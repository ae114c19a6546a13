"""A source without rows that ticks after every batch that had some, and so ends one batch later.

With the trigger `availableNow` a query ends once no source has anything new. What the last rows
have made due would then wait for the next start. This source reads in Spark's own notes whether the
batch before had rows, and has something new if so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from trimtab.spark.shipping import MISSING
from trimtab.spark.source.data_source import ReadAllAvailable, SupportsTriggerAvailableNow


def last_look_source(name: str, packed_store: bytes) -> type[DataSource]:
    """Return the class of a source for one checkpoint, made anew so that it travels by value.

    Its offsets are those of Spark's `rate-micro-batch` with a row per batch, so that a checkpoint
    may go on with the one where the other has been.

    Parameters
    ----------
    name
        What Spark is to know it by.
    packed_store
        The checkpoint's store, as a pickle.
    """
    missing, everything = MISSING, ReadAllAvailable

    def came() -> bool:
        import importlib.util

        from pyspark import cloudpickle

        if importlib.util.find_spec("trimtab") is None:
            raise RuntimeError(missing)
        from trimtab.journal.spark_offsets import took_something

        return took_something(cloudpickle.loads(packed_store))

    class Ticks(DataSourceStreamReader, SupportsTriggerAvailableNow):
        """What Spark asks while the query runs."""

        def __init__(self) -> None:
            self.asked = False

        def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
            return {"offset": 0, "timestamp": 0}

        def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
            # At the start something may have become due by the clock.
            ticks = not self.asked or came()
            self.asked = True
            if not ticks:
                return start
            return {"offset": start["offset"] + 1, "timestamp": start["timestamp"] + 1000}

        def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's name
            return everything()

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
            pass

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            return [InputPartition(None)]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            return iter(())

    class LastLook(DataSource):
        """A source for one checkpoint."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return "value long"

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return Ticks()

    return LastLook
