"""How much memory a query's processes use while it runs, in its middle and at its end."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

import numpy as np
import psutil
from pyspark.sql import SparkSession

EVERY = 5.0
"""Seconds between two looks; each asks Java to collect what nobody uses any more."""


class Meter:
    """Looks at memory now and then, from a thread of its own.

    Parameters
    ----------
    spark
        The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._java = spark.sparkContext._jvm.java.lang  # type: ignore[union-attr]
        self._java_process = psutil.Process(spark.sparkContext._gateway.proc.pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.seen: list[dict[str, float]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def thirds(self, name: str) -> dict[str, float]:
        """Return means over the second and the last third of the time, in MB."""
        values = np.array([one[name] for one in self.seen]) / 2**20
        third = max(1, values.size // 3)
        return {
            "second third": float(values[third : 2 * third].mean()),
            "last third": float(values[2 * third :].mean()),
        }

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._over.wait(EVERY):
            self._java.System.gc()
            runtime = self._java.Runtime.getRuntime()
            self.seen.append(
                {
                    "driver's Python": float(own.memory_info().rss),
                    "Java heap in use": float(runtime.totalMemory() - runtime.freeMemory()),
                    "Python workers": self._workers(),
                }
            )

    def _workers(self) -> float:
        """Return what Spark's Python processes have for themselves, all together."""
        total = 0.0
        for child in self._java_process.children(recursive=True):
            try:
                total += child.memory_full_info().uss
            except psutil.Error:
                continue
        return total
