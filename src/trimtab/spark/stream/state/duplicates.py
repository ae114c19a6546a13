"""The first row of each key; its state is that it has been seen, and until when that counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from trimtab.journal.keyed.entries import NO_TIMEOUT
from trimtab.spark.stream.operations.base import Running
from trimtab.spark.stream.state.kept import KeyedKept
from trimtab.spark.stream.state.lane import Work
from trimtab.spark.stream.state.operation import KeyedOperation
from trimtab.spark.stream.state.shape import Shape
from trimtab.spark.stream.state.vector_work import Keys, Made, VectorWork, due_at


class FirstRows(VectorWork):
    """Lets the first row of a key pass, and no other until the key is forgotten.

    Parameters
    ----------
    result
        Type of the rows.
    time, within
        The event-time column, and how long after a row's time its key counts as seen, in
        microseconds. Without `within` the time is part of the key, which counts as seen until the
        watermark has passed it: rows of that key are late from then on. Without both, for ever.
    watermark
        Spark's watermark, in milliseconds.
    """

    def __init__(
        self, result: T.StructType, time: str | None, within: int | None, watermark: int
    ) -> None:
        self.result = result
        self.time = time
        self.within = within
        # What ends at the watermark is over; timeouts are due when they lie before.
        self.times_out_before = NO_TIMEOUT if time is None else watermark + 1

    def made(self, keys: Keys) -> Made:
        """Return the first rows of keys that were not seen."""
        new = np.flatnonzero(~keys.exists)
        rows = pa.Table.from_batches([keys.rows]).select(self.result.names)
        first = rows.take(pa.array(keys.starts[new]))
        until = np.full(new.size, NO_TIMEOUT)
        if self.time is not None:
            times = keys.rows.column(self.time).take(pa.array(keys.starts[new]))
            if self.within is None:
                until = due_at(times)
            else:
                # As in Spark a row without a time counts as one of 1970.
                until = due_at(pc.fill_null(times.cast(pa.int64()), 0), self.within)
        return Made(first, new, np.ones(new.size, dtype=np.bool_), pa.table({}), until)


class DropDuplicates(KeyedOperation):
    """Give the first row of each key, for ever or within a time."""

    updates = False

    def __init__(self, shape: Shape, time: str | None, within: int | None) -> None:
        super().__init__(shape, time)
        self.within = within
        self._result = T.StructType(shape.shown)

    def identity(self) -> dict[str, Any]:
        """Return what makes the operation itself, for the checkpoint."""
        return {
            "operation": "drop_duplicates",
            "within": self.within,
            "time": self.event_time,
            "schema": self._result.simpleString(),
        }

    def work(self, running: Running, kept: KeyedKept) -> Work:
        """Return the look for keys that were not seen."""
        watermark = (running.spark_watermark or 0) // 1000
        return FirstRows(self._result, self.event_time, self.within, watermark)
