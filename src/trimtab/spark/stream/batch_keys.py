"""The keys of the batch in hand: looked at before its rows move, its rows kept meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from trimtab.histogram import Histogram
from trimtab.spark.columns import quoted
from trimtab.spark.counting.exact import count_keys
from trimtab.spark.counting.look import Looked, look_at_keys, rows_wanted
from trimtab.spark.stream.looking import KEEP, Look
from trimtab.spark.stream.received_batch import Told
from trimtab.spark.stream.steering import Glance

COUNTED_KEYS = 1 << 13
"""Heaviest keys that an exact count brings to the driver: a plan may need more than the thousand
that it is first made from."""


class BatchKeys:
    """Looks at the keys of one batch, once at most.

    Parameters
    ----------
    rows
        The batch as Spark gives it. A look that keeps the rows makes Spark compute them once: what
        was looked at is what is routed, even if the source or a user's function gives other rows
        when it is asked again. That holds unless an executor is lost together with what it kept.
    keys
        Names of the key columns.
    names_keys
        Whether heavy keys get readable names.
    partitions
        How many input partitions are expected; None if nothing is known of them.
    told
        What receivers tell of them: then nothing is looked at.
    """

    def __init__(
        self,
        rows: DataFrame,
        keys: Sequence[str],
        *,
        names_keys: bool,
        partitions: int | None,
        told: Told | None = None,
    ) -> None:
        self.rows = rows
        self.told = told
        self.counted: Histogram | None = None if told is None else told.histogram
        self._texts = [quoted(key) for key in keys]
        self._names_keys = names_keys
        self._partitions = partitions
        self._kept = False

    def look(self, glance: Glance) -> tuple[Look, Looked]:
        """Look at the keys; return what was decided with what it took, and what was seen."""
        if self.told is not None:
            return self.told.look(), self.told.looked()
        started = time.perf_counter()
        if glance.look.how == KEEP:
            self.rows.persist(StorageLevel.MEMORY_AND_DISK)
            self._kept = True
        looked = self._looked(glance)
        self.counted = looked.histogram
        return glance.look.showed(looked, time.perf_counter() - started), looked

    def _looked(self, glance: Glance) -> Looked:
        if glance.exact:
            top = max(COUNTED_KEYS, 16 * glance.lanes)
            found = count_keys(self.rows, self._texts, glance.hosts, top, labels=self._names_keys)
            return Looked(found, int(found.total), exact=True)
        return look_at_keys(
            self.rows,
            self._texts,
            wanted=rows_wanted(glance.lanes),
            hosts=glance.hosts,
            partitions=self._partitions,
            labels=self._names_keys,
        )

    def release(self) -> None:
        """Give back what the rows were kept in; to be called when the batch is done."""
        if self._kept:
            self.rows.unpersist()
            self._kept = False
