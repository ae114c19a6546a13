"""The verbs of Spark's `GroupedData` that no layout helps: Spark does them, unchanged."""

# ruff: noqa: N802, N803 - names that PySpark users know

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

if TYPE_CHECKING:
    from pyspark.sql import GroupedData
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor


class GroupedBySpark(ABC):
    """What a grouped frame hands to Spark as it is: arguments, results and errors are Spark's."""

    @property
    @abstractmethod
    def _by_spark(self) -> GroupedData:
        """The frame as Spark groups it, without any column of ours."""

    def pivot(self, pivot_col: str, values: list[Any] | None = None) -> GroupedData:
        """Return Spark's own grouping with the values of a column as columns of the result.

        Examples
        --------
        >>> clicks = spark.sql("select id % 3 as user, id % 2 as page from range(9)")
        >>> tt.group_by(clicks, "user").pivot("page", [0, 1]).count().orderBy("user").first()
        Row(user=0, 0=2, 1=1)
        """
        return self._by_spark.pivot(pivot_col, values)

    def apply(self, udf: Any) -> DataFrame:
        """Apply a pandas UDF of the kind GROUPED_MAP; `applyInPandas` takes a plain function.

        Examples
        --------
        >>> import warnings
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> kind = F.PandasUDFType.GROUPED_MAP
        >>> size = F.pandas_udf(lambda group: pd.DataFrame([len(group)]), "n int", kind)
        >>> with warnings.catch_warnings(action="ignore"):  # Spark prefers the other call
        ...     sizes = tt.group_by(clicks, "user").apply(size)
        >>> sorted(row.n for row in sizes.collect())
        [3, 6]
        """
        # Spark's own method: its checks and its warning, then `applyInPandas` of this frame.
        return type(self._by_spark).apply(self, udf)

    def applyInPandasWithState(
        self,
        func: Any,
        outputStructType: T.StructType | str,
        stateStructType: T.StructType | str,
        outputMode: str,
        timeoutConf: str,
    ) -> DataFrame:
        """Apply a function that keeps state per key, in a streaming frame.

        Examples
        --------
        >>> ticks = spark.readStream.format("rate").load()
        >>> def kept(key, pieces, state):
        ...     yield from pieces
        >>> schema = "timestamp timestamp, value long"
        >>> grouped = tt.group_by(ticks, "value")
        >>> grouped.applyInPandasWithState(kept, schema, "n long", "append", "NoTimeout").columns
        ['timestamp', 'value']
        """
        return self._by_spark.applyInPandasWithState(
            func, outputStructType, stateStructType, outputMode, timeoutConf
        )

    def transformWithStateInPandas(
        self,
        statefulProcessor: StatefulProcessor,
        outputStructType: T.StructType | str,
        outputMode: str,
        timeMode: str,
        initialState: GroupedData | GroupedBySpark | None = None,
        eventTimeColumnName: str = "",
    ) -> DataFrame:
        """Apply a stateful processor of pandas frames, in a streaming frame.

        Examples
        --------
        >>> from pyspark.sql.streaming import StatefulProcessor
        >>> class Kept(StatefulProcessor):
        ...     def init(self, handle): ...
        ...     def close(self): ...
        ...     def handleInputRows(self, key, rows, timer):
        ...         yield from rows
        >>> ticks = tt.group_by(spark.readStream.format("rate").load(), "value")
        >>> schema = "timestamp timestamp, value long"
        >>> ticks.transformWithStateInPandas(Kept(), schema, "append", "None").isStreaming
        True
        """
        return self._by_spark.transformWithStateInPandas(
            statefulProcessor,
            outputStructType,
            outputMode,
            timeMode,
            grouped_by_spark(initialState),
            eventTimeColumnName,
        )

    def transformWithState(
        self,
        statefulProcessor: StatefulProcessor,
        outputStructType: T.StructType | str,
        outputMode: str,
        timeMode: str,
        initialState: GroupedData | GroupedBySpark | None = None,
        eventTimeColumnName: str = "",
    ) -> DataFrame:
        """Apply a stateful processor of rows, in a streaming frame.

        Examples
        --------
        >>> from pyspark.sql.streaming import StatefulProcessor
        >>> class Kept(StatefulProcessor):
        ...     def init(self, handle): ...
        ...     def close(self): ...
        ...     def handleInputRows(self, key, rows, timer):
        ...         yield from rows
        >>> ticks = tt.group_by(spark.readStream.format("rate").load(), "value")
        >>> schema = "timestamp timestamp, value long"
        >>> ticks.transformWithState(Kept(), schema, "append", "None").isStreaming
        True
        """
        return self._by_spark.transformWithState(
            statefulProcessor,
            outputStructType,
            outputMode,
            timeMode,
            grouped_by_spark(initialState),
            eventTimeColumnName,
        )


def grouped_by_spark(grouped: Any) -> Any:
    """Return Spark's own grouping in place of ours, and anything else as it is."""
    return grouped._by_spark if isinstance(grouped, GroupedBySpark) else grouped
