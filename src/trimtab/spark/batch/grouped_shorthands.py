"""Aggregates that have a verb of their own: a word for what `agg` says at length."""

from __future__ import annotations

from abc import abstractmethod

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab.spark.batch.aggregates import as_named
from trimtab.spark.batch.grouped_by_spark import GroupedBySpark


class GroupedShorthands(GroupedBySpark):
    """Count, sum, mean, smallest and largest of every group, as `GroupedData` has them."""

    @property
    @abstractmethod
    def _rows(self) -> DataFrame:
        """The frame that was grouped, as it was given."""

    @property
    @abstractmethod
    def _asks_for_layout(self) -> bool:
        """Whether the caller has named a partitioner."""

    @abstractmethod
    def agg(self, *aggregates: Column) -> DataFrame:
        """Aggregate every group."""

    def count(self) -> DataFrame:
        """Count the rows of every group, in a column called `count`.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> sorted(map(tuple, tt.group_by(clicks, "user").count().collect()))
        [('ann', 6), ('bob', 3)]
        """
        return self.agg(F.count(F.lit(1)).alias("count"))

    def sum(self, *cols: str) -> DataFrame:
        """Sum numeric columns, all of them if none is named.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> tt.group_by(clicks, "user").sum("id").orderBy("user").first()
        Row(user='ann', sum(id)=15)
        """
        return self._numeric("sum", cols)

    def avg(self, *cols: str) -> DataFrame:
        """Return the mean of numeric columns, of all of them if none is named.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> tt.group_by(clicks, "user").avg("id").orderBy("user").first()
        Row(user='ann', avg(id)=2.5)
        """
        return self._numeric("avg", cols)

    def mean(self, *cols: str) -> DataFrame:
        """Return the mean of numeric columns, of all of them if none is named.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> tt.group_by(clicks, "user").mean("id").orderBy("user").first()
        Row(user='ann', avg(id)=2.5)
        """
        return self._numeric("mean", cols)

    def min(self, *cols: str) -> DataFrame:
        """Return the smallest value of numeric columns, of all of them if none is named.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> tt.group_by(clicks, "user").min("id").orderBy("user").first()
        Row(user='ann', min(id)=0)
        """
        return self._numeric("min", cols)

    def max(self, *cols: str) -> DataFrame:
        """Return the largest value of numeric columns, of all of them if none is named.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> tt.group_by(clicks, "user").max("id").orderBy("user").first()
        Row(user='ann', max(id)=5)
        """
        return self._numeric("max", cols)

    def _numeric(self, verb: str, cols: tuple[str, ...]) -> DataFrame:
        """Let Spark do it, which combines a key's rows before they move, unless told otherwise."""
        plain: DataFrame = getattr(self._by_spark, verb)(*cols)
        if not self._asks_for_layout:
            return plain
        fields = self._rows.schema.fields
        named = cols or [f.name for f in fields if isinstance(f.dataType, T.NumericType)]
        if not named:
            return plain
        shown = plain.columns[-len(named) :]
        aggregates = [
            F.expr(f"{verb}({as_named(self._rows, name)})").alias(label)
            for name, label in zip(named, shown, strict=True)
        ]
        return self.agg(*aggregates)
