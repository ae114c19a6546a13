"""Laws by which rows spread over keys, and how lopsided Spark's hash makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from trimtab.metrics import max_over_mean


def lanes_by_hash(spark: SparkSession, ids: int, lanes: int) -> NDArray[np.int32]:
    """Return the partition that Spark's own hash gives each of the keys 0, 1, 2 ..."""
    found = spark.range(ids).selectExpr(f"CAST(pmod(hash(id), {lanes}) AS INT) AS lane").toPandas()
    return np.asarray(found["lane"], dtype=np.int32)


@dataclass(frozen=True)
class Law:
    """How rows spread over keys: some hot ones, all alike, and the rest.

    Keys are whole numbers in a row; which numbers these are is their naming, and Spark's hash
    decides by it which hot keys meet on a partition.
    """

    hot: int
    share: float
    keys: int = 1_000

    @property
    def shares(self) -> NDArray[np.float64]:
        rest = self.keys - self.hot
        hot, others = self.share / self.hot, (1 - self.share) / rest
        return np.repeat([hot, others], [self.hot, rest])

    def level(self, lanes: int) -> float:
        """Return max/mean of the most level layout of whole keys."""
        return max(1.0, lanes * self.share / self.hot)

    def by_hash(self, spark: SparkSession, lanes: int) -> NDArray[np.float64]:
        """Return max/mean of Spark's own layout for each of many namings."""
        found = lanes_by_hash(spark, NAMINGS * self.keys, lanes).reshape(NAMINGS, self.keys)
        return np.array([max_over_mean(np.bincount(row, self.shares, lanes)) for row in found])

    def __str__(self) -> str:
        return f"{self.hot} keys have {self.share:.0%} of the rows, {self.keys - self.hot} the rest"


NAMINGS = 1_000
"""Namings of keys that are looked through, naming n from key n * keys on."""


TAIL = (np.arange(2_000) + 10.0) ** -1.2
"""No key stands out, and hashing is nearly level: little can be won."""
