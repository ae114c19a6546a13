"""Grouping without stragglers: the shape of Spark's own calls, one shuffle by a plan."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab._checks import lane_count
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.spark.aggregates import refuse_unsplittable
from trimtab.spark.columns import KeyColumns, key_columns, quoted, spare_names
from trimtab.spark.learn import Learned, timed
from trimtab.spark.routing_plan import Partitioner, RoutingPlan, routing_plan


def group_by(
    df: DataFrame,
    *keys: str | Column,
    lanes: int | None = None,
    partitioner: Partitioner = "trim",
    learn: bool = False,
    histogram: Histogram | None = None,
) -> GroupedFrame:
    """Group `df` by its key columns, as `df.groupBy(*keys)` does, on level lanes.

    Parameters
    ----------
    df
        The frame.
    keys
        Key columns, by name or as expressions.
    lanes
        Number of lanes; by default `spark.sql.shuffle.partitions`.
    partitioner
        Registry name, planner or plan. Functions of a whole group need one that keeps keys whole;
        `agg`, and a function that brings a merge, also take one that splits.
    learn
        Whether `applyInPandas` and `applyInArrow` also measure the seconds each key takes.
    histogram
        What is known of the keys; by default they are counted in one pass over `df`.
    """
    given = list(keys[0]) if len(keys) == 1 and isinstance(keys[0], list | tuple) else list(keys)
    checked = key_columns(df, given)
    count = shuffle_partitions(df) if lanes is None else lane_count(lanes)
    return GroupedFrame(df, checked, count, partitioner, learn, histogram)


def shuffle_partitions(df: DataFrame) -> int:
    """Give the session's number of shuffle partitions."""
    return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)


class GroupedFrame:
    """A frame grouped by its keys; nothing runs until a function or an aggregate is given."""

    def __init__(
        self,
        df: DataFrame,
        key: KeyColumns,
        lanes: int,
        partitioner: Partitioner,
        learn: bool = False,
        histogram: Histogram | None = None,
    ) -> None:
        self._df = _with_keys(df, key)
        self._key = key_columns(self._df, key.names)
        self._lanes = lanes
        self._partitioner = partitioner
        self._learn = learn
        self._histogram = histogram

    def applyInPandas(  # noqa: N802 - the name PySpark users know
        self,
        func: Callable[..., Any],
        schema: T.StructType | str,
        merge: Callable[..., Any] | None = None,
    ) -> DataFrame | Learned:
        """Apply a function of a group's rows, as a pandas frame, to every group.

        With `merge`, keys may be split: `func` sees the rows of one fragment, and `merge`, a
        function of the same shape over `schema`, puts the results of a key's fragments together.
        """
        return self._apply("applyInPandas", func, schema, merge)

    def applyInArrow(  # noqa: N802 - the name PySpark users know
        self,
        func: Callable[..., Any],
        schema: T.StructType | str,
        merge: Callable[..., Any] | None = None,
    ) -> DataFrame | Learned:
        """Apply a function of a group's rows, as an Arrow table, to every group."""
        return self._apply("applyInArrow", func, schema, merge)

    def agg(self, *aggregates: Column) -> DataFrame:
        """Aggregate every group, exactly as Spark does, key columns first.

        Where keys are whole each lane finishes its own groups. Where they are split each lane
        combines what it has, and a second, small exchange merges the parts.
        """
        if not aggregates or not all(isinstance(column, Column) for column in aggregates):
            raise InvalidArgument(
                "agg takes aggregate columns such as F.sum('x'); got "
                f"{', '.join(map(repr, aggregates)) or 'none'}"
            )
        routing = self._routing(split=True)
        grouped, lane = self._grouped(routing)
        if routing.splits_keys:
            refuse_unsplittable(grouped.agg(*aggregates))
            return grouped.agg(*aggregates)
        return grouped.agg(*aggregates).drop(lane)

    def count(self) -> DataFrame:
        """Count the rows of every group, in a column called `count`."""
        return self.agg(F.count(F.lit(1)).alias("count"))

    def cogroup(self, other: GroupedFrame) -> CoGroupedFrame:
        """Pair the groups of two frames that have equal keys."""
        if not isinstance(other, GroupedFrame):
            raise InvalidArgument(
                f"cogroup takes what trimtab.spark.group_by gives; got {type(other).__name__}"
            )
        return CoGroupedFrame(self, other)

    def explain(self, split: bool = False) -> str:
        """Say which partitioner is used, what it costs and what it is expected to save.

        `split` asks for what `agg` does, which can work with split keys.
        """
        routing = self._routing(split=split)
        return routing.explain("group_by", shuffles=2 if routing.splits_keys else 1)

    def _routing(self, split: bool) -> RoutingPlan:
        return routing_plan(
            self._df,
            self._key,
            self._lanes,
            self._partitioner,
            split=split,
            histogram=self._histogram,
        )

    def _grouped(self, routing: RoutingPlan) -> tuple[GroupedData, str]:
        (lane,) = spare_names(self._df.columns, "lane")
        laid_out = routing.laid_out(self._df, self._key, lane)
        names = [quoted(name) for name in self._key.names]
        if routing.splits_keys:
            return laid_out.groupBy(*names), lane
        return laid_out.groupBy(lane, *names), lane

    def _apply(
        self,
        method: str,
        func: Callable[..., Any],
        schema: T.StructType | str,
        merge: Callable[..., Any] | None,
    ) -> DataFrame | Learned:
        if not callable(func) or not (merge is None or callable(merge)):
            raise InvalidArgument(f"{method} takes functions; got {func!r} and merge={merge!r}")
        routing = self._routing(split=merge is not None)
        (lane,) = spare_names(self._df.columns, "lane")
        laid_out = routing.laid_out(self._df, self._key, lane)
        names = [quoted(name) for name in self._key.names]
        grouped = laid_out.groupBy(lane, *names)
        inner = _without_lane(func, lane, method)
        if self._learn:
            if merge is not None:
                raise InvalidArgument("learn=True times whole keys; leave merge out")
            return timed(grouped, inner, schema, method, self._key, self._df.sparkSession)
        result: DataFrame = getattr(grouped, method)(inner, schema)
        if merge is None or not routing.splits_keys:
            return result
        missing = [name for name in self._key.names if name not in result.columns]
        if missing:
            raise InvalidArgument(
                f"a function with merge must give the key columns; its schema has no {missing[0]!r}"
            )
        merged: DataFrame = getattr(result.groupBy(*names), method)(merge, schema)
        return merged


class CoGroupedFrame:
    """Two grouped frames side by side."""

    def __init__(self, left: GroupedFrame, right: GroupedFrame) -> None:
        kinds = [[f.dataType for f in side._key.fields] for side in (left, right)]
        if kinds[0] != kinds[1]:
            raise InvalidArgument(
                "cogroup needs keys of the same number and types on both sides; got "
                f"{[k.simpleString() for k in kinds[0]]} and {[k.simpleString() for k in kinds[1]]}"
            )
        if left._lanes != right._lanes:
            raise InvalidArgument(
                f"cogroup needs the same lanes on both sides; got {left._lanes} and {right._lanes}"
            )
        self._left, self._right = left, right

    def applyInPandas(  # noqa: N802 - the name PySpark users know
        self, func: Callable[..., Any], schema: T.StructType | str
    ) -> DataFrame:
        """Apply a function of both sides' rows of a key, as pandas frames, to every key."""
        return self._apply("applyInPandas", func, schema)

    def applyInArrow(  # noqa: N802 - the name PySpark users know
        self, func: Callable[..., Any], schema: T.StructType | str
    ) -> DataFrame:
        """Apply a function of both sides' rows of a key, as Arrow tables, to every key."""
        return self._apply("applyInArrow", func, schema)

    def _apply(
        self, method: str, func: Callable[..., Any], schema: T.StructType | str
    ) -> DataFrame:
        if not callable(func):
            raise InvalidArgument(f"{method} takes a function; got {func!r}")
        left, right = self._left, self._right
        routing = left._routing(split=False)
        if routing.histogram is not None and left._histogram is None:
            # Both sides of a key end on one lane, so both sides' weights decide where.
            other = right._routing(split=False).histogram
            if other is not None:
                both = routing.histogram.merge(other)
                routing = routing_plan(
                    left._df,
                    left._key,
                    left._lanes,
                    left._partitioner,
                    split=False,
                    histogram=both,
                )
        sides = []
        lanes = []
        for side in (left, right):
            (lane,) = spare_names(side._df.columns, "lane")
            names = [quoted(name) for name in side._key.names]
            sides.append(routing.laid_out(side._df, side._key, lane).groupBy(lane, *names))
            lanes.append(lane)
        inner = _without_lanes(func, lanes, method)
        result: DataFrame = getattr(sides[0].cogroup(sides[1]), method)(inner, schema)
        return result


def _with_keys(df: DataFrame, key: KeyColumns) -> DataFrame:
    """Add key columns that are expressions, so that they can be grouped by name."""
    for name, column in zip(key.names, key.columns, strict=True):
        if name not in df.columns:
            df = df.withColumn(name, column)
    return df


def _drop(rows: Any, lane: str, method: str) -> Any:
    return rows.drop(columns=lane) if method == "applyInPandas" else rows.drop_columns([lane])


def _takes_key(func: Callable[..., Any], frames: int) -> bool:
    return len(inspect.signature(func).parameters) == frames + 1


def _without_lane(func: Callable[..., Any], lane: str, method: str) -> Callable[..., Any]:
    if _takes_key(func, 1):

        def with_key(key: tuple[Any, ...], rows: Any) -> Any:
            return func(key[1:], _drop(rows, lane, method))

        return with_key

    def plain(rows: Any) -> Any:
        return func(_drop(rows, lane, method))

    return plain


def _without_lanes(func: Callable[..., Any], lanes: list[str], method: str) -> Callable[..., Any]:
    if _takes_key(func, 2):

        def with_key(key: tuple[Any, ...], left: Any, right: Any) -> Any:
            return func(key[1:], _drop(left, lanes[0], method), _drop(right, lanes[1], method))

        return with_key

    def plain(left: Any, right: Any) -> Any:
        return func(_drop(left, lanes[0], method), _drop(right, lanes[1], method))

    return plain
