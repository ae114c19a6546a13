"""Grouping without stragglers: the shape of Spark's own calls, one shuffle by a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from trimtab._checks import lane_count
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.partitioners import Given
from trimtab.spark.batch.aggregates import (
    WORTH_MOVING,
    any_grows,
    combines,
    refuse_unsplittable,
)
from trimtab.spark.batch.cogroup import CoGroupedFrame
from trimtab.spark.columns import Keys, key_columns, quoted, spare_names
from trimtab.spark.counting.timed import Learned, timed
from trimtab.spark.groups.hidden_columns import without_columns
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.one_pass import apply_per_group, in_one_pass
from trimtab.spark.groups.user_functions import ARROW, PANDAS
from trimtab.spark.routing.compiled import lay_out
from trimtab.spark.routing.route import Route, route_of
from trimtab.spark.session_facts import shuffle_partitions

DEFAULT_PARTITIONER = "trim"

_NAME_ONE = "name a partitioner to lay the rows out anyway"


def group_by(
    df: DataFrame,
    *keys: Keys,
    lanes: int | None = None,
    partitioner: Given | None = None,
    parameters: Mapping[str, Any] | None = None,
    learn: bool = False,
    histogram: Histogram | None = None,
) -> GroupedFrame:
    """Group `df` by its key columns, as `df.groupBy(*keys)` does, on level lanes.

    Parameters
    ----------
    df
        The frame. It is read once more to count its keys: cache what is costly to make.
    keys
        Key columns, by name or as expressions.
    lanes
        Number of lanes; by default `spark.sql.shuffle.partitions`.
    partitioner, parameters
        Registry name with the parameters of the class it names, or a planner, router or plan.
        Functions of a whole group need one that keeps keys whole; `agg`, and a function that
        brings a merge, also take one that splits. By default `trim`, keys whole; and Spark's own
        for an `agg` that Spark combines before its shuffle, or whose lists would gain too little.
    learn
        Whether `applyInPandas` and `applyInArrow` also measure the seconds each key takes.
    histogram
        What is known of the keys; by default they are counted in one pass over `df`.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user, id from range(100)")
    >>> grouped = tt.group_by(clicks, "user", lanes=4)
    >>> grouped.count().orderBy(F.desc("count")).first()
    Row(user='ann', count=60)
    """
    given: Any = keys[0] if len(keys) == 1 and isinstance(keys[0], list | tuple) else keys
    key = key_columns(df, given)
    count = shuffle_partitions(df) if lanes is None else lane_count(lanes)
    return GroupedFrame(KeyedFrame.of(df, key), count, partitioner, parameters, learn, histogram)


class GroupedFrame:
    """A frame grouped by its keys; nothing runs until a function or an aggregate is given."""

    def __init__(
        self,
        keyed: KeyedFrame,
        lanes: int,
        partitioner: Given | None = None,
        parameters: Mapping[str, Any] | None = None,
        learn: bool = False,
        histogram: Histogram | None = None,
    ) -> None:
        self._keyed = keyed
        self._lanes = lanes
        self._partitioner = partitioner
        self._parameters = parameters
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

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> def latest(rows: pd.DataFrame) -> pd.DataFrame:
        ...     return rows.nlargest(1, "id")
        >>> grouped = tt.group_by(clicks, "user", lanes=2)
        >>> found = grouped.applyInPandas(latest, "user string, id long")
        >>> sorted(map(tuple, found.collect()))
        [('ann', 5), ('bob', 8)]

        The latest of several latest ones is the latest, so that users may be split:

        >>> found = grouped.applyInPandas(latest, "user string, id long", merge=latest)
        >>> sorted(map(tuple, found.collect()))
        [('ann', 5), ('bob', 8)]
        """
        return self._apply(PANDAS, func, schema, merge)

    def applyInArrow(  # noqa: N802 - the name PySpark users know
        self,
        func: Callable[..., Any],
        schema: T.StructType | str,
        merge: Callable[..., Any] | None = None,
    ) -> DataFrame | Learned:
        """Apply a function of a group's rows, as an Arrow table, to every group.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> def earliest(rows: pa.Table) -> pa.Table:
        ...     return rows.sort_by("id").slice(0, 1)
        >>> found = tt.group_by(clicks, "user", lanes=2).applyInArrow(earliest, clicks.schema)
        >>> sorted(map(tuple, found.collect()))
        [('ann', 0), ('bob', 6)]
        """
        return self._apply(ARROW, func, schema, merge)

    def agg(self, *aggregates: Column | Mapping[str, str]) -> DataFrame:
        """Aggregate every group, exactly as Spark does, key columns first.

        Where keys are whole each lane finishes its own groups. Where they are split each lane
        combines what it has, and a second, small exchange merges the parts.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> grouped = tt.group_by(clicks, "user", lanes=2, partitioner="prompt")
        >>> found = grouped.agg(F.sum("id").alias("sum"), F.collect_set("id").alias("ids"))
        >>> found.select("user", "sum", F.size("ids")).orderBy("user").show()
        +----+---+---------+
        |user|sum|size(ids)|
        +----+---+---------+
        | ann| 15|        6|
        | bob| 21|        3|
        +----+---+---------+
        """
        columns = _aggregate_columns(aggregates)
        keyed = self._keyed
        route, _ = self._aggregated(columns)
        if route is None:
            return keyed.df.groupBy(*keyed.grouping).agg(*columns)
        lane = keyed.spare("lane")
        laid_out = route.laid_out(keyed.df, keyed.hash, lane)
        if not route.splits_keys:
            return laid_out.groupBy(lane, *keyed.grouping).agg(*columns).drop(lane)
        merged = laid_out.groupBy(*keyed.grouping).agg(*columns)
        refuse_unsplittable(merged)
        return merged

    def count(self) -> DataFrame:
        """Count the rows of every group, in a column called `count`.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> sorted(map(tuple, tt.group_by(clicks, "user").count().collect()))
        [('ann', 6), ('bob', 3)]
        """
        return self.agg(F.count(F.lit(1)).alias("count"))

    def cogroup(self, other: GroupedFrame) -> CoGroupedFrame:
        """Pair the groups of two frames that have equal keys.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> names = spark.sql("select 'ann' as user, 'Ann Lee' as name")
        >>> by_user = tt.group_by(clicks, "user", lanes=2)
        >>> pairs = by_user.cogroup(tt.group_by(names, "user", lanes=2))
        >>> def sizes(clicks: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
        ...     return pd.DataFrame({"clicks": [len(clicks)], "names": [len(names)]})
        >>> sorted(map(tuple, pairs.applyInPandas(sizes, "clicks int, names int").collect()))
        [(3, 0), (6, 1)]
        """
        if not isinstance(other, GroupedFrame):
            raise InvalidArgument(
                f"cogroup takes what trimtab.spark.group_by gives; got {type(other).__name__}"
            )
        if self._lanes != other._lanes:
            raise InvalidArgument(
                f"cogroup needs the same lanes on both sides; got {self._lanes} and {other._lanes}"
            )
        return CoGroupedFrame(
            self._keyed,
            other._keyed,
            self._lanes,
            self._partitioner or DEFAULT_PARTITIONER,
            self._parameters,
            self._histogram,
        )

    def explain(self, *aggregates: Column | Mapping[str, str]) -> str:
        """Say which partitioner is used, what it costs and what it is expected to save.

        Without aggregates this is about a function of a group, with them about `agg`.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 60, 'ann', 'u' || id) as user, id from range(100)")
        >>> grouped = tt.group_by(clicks, "user", lanes=4)
        >>> print(grouped.explain())
        group_by: partitioner 'trim' on 4 lanes, 1 shuffle of the rows, keys whole
        ...
        >>> print(grouped.explain(F.sum("id")))
        group_by: Spark's own aggregation, 1 shuffle: it combines a key's rows before they move, ...
        """
        if not aggregates:
            return self._route(split=False).explain("group_by", shuffles=1)
        route, reason = self._aggregated(_aggregate_columns(aggregates))
        if route is None:
            return f"group_by: Spark's own aggregation, 1 shuffle: {reason}; {_NAME_ONE}"
        return route.explain("group_by", shuffles=2 if route.splits_keys else 1)

    def _aggregated(self, aggregates: list[Column]) -> tuple[Route | None, str]:
        """Return how rows are laid out for aggregates; or None, and why they are left to Spark."""
        if self._partitioner is not None or self._parameters is not None:
            return self._route(split=True), ""
        keyed = self._keyed
        plain = keyed.df.groupBy(*keyed.grouping).agg(*aggregates)
        if combines(aggregates, plain):
            return None, "it combines a key's rows before they move, so that no key is hot"
        route = self._route(split=False)
        gain = route.gain()
        if any_grows(aggregates) and gain < WORTH_MOVING:
            return None, (
                f"by plain hashing the fullest lane holds {gain:.2f} times as much as by a plan, "
                f"and rows that move before they are listed pay from {WORTH_MOVING} on"
            )
        return route, ""

    def _route(self, split: bool) -> Route:
        return route_of(
            self._keyed.df,
            self._keyed.key,
            self._lanes,
            self._partitioner or DEFAULT_PARTITIONER,
            split=split,
            parameters=self._parameters,
            histogram=self._histogram,
        )

    def _apply(
        self,
        method: str,
        func: Callable[..., Any],
        schema: T.StructType | str,
        merge: Callable[..., Any] | None,
    ) -> DataFrame | Learned:
        if not callable(func) or not (merge is None or callable(merge)):
            raise InvalidArgument(f"{method} takes functions; got {func!r} and merge={merge!r}")
        if self._learn and merge is not None:
            raise InvalidArgument("learn=True times whole keys; leave merge out")
        route = self._route(split=merge is not None)
        keyed = self._keyed
        if self._learn:
            hashed = keyed.spare("hash")
            rows = keyed.df.select("*", keyed.hash.alias(hashed))
            applied = partial(self._on_lanes, route, rows, method)
            return timed(applied, func, schema, method, hashed, [hashed, *keyed.added])
        result = self._on_lanes(route, keyed.df, method, func, schema, keyed.added)
        if merge is None or not route.splits_keys:
            return result
        return _merged(result, keyed.key.names, merge, schema, method, self._lanes)

    def _on_lanes(
        self,
        route: Route,
        rows: DataFrame,
        method: str,
        func: Callable[..., Any],
        schema: T.StructType | str,
        hidden: Sequence[str] = (),
    ) -> DataFrame:
        """Lay `rows` out and apply `func` to every group of every lane."""
        keyed = self._keyed
        if in_one_pass(rows.schema, keyed.names, func, method):
            on_lanes = route.sent(rows, keyed.key)
            return apply_per_group(on_lanes, keyed.names, hidden, func, schema)
        (lane,) = spare_names(rows.columns, "lane")
        lane_of_row = route.lane_of(keyed.key)
        if lane_of_row is not None:
            # An expression among the keys is not a column of the group: the function is given its
            # rows as they are, and our lane is not converted for every group.
            laid_out = lay_out(rows, route.lanes, lane_of_row)
            grouped = laid_out.groupBy(lane_of_row.alias(lane), *keyed.grouping)
            inner = without_columns(func, hidden, method)
        else:
            laid_out = route.laid_out(rows, keyed.hash, lane)
            grouped = laid_out.groupBy(lane, *keyed.grouping)
            inner = without_columns(func, [lane, *hidden], method)
        result: DataFrame = getattr(grouped, method)(inner, schema)
        return result


def _merged(
    parts: DataFrame,
    names: list[str],
    merge: Callable[..., Any],
    schema: T.StructType | str,
    method: str,
    lanes: int,
) -> DataFrame:
    missing = [name for name in names if name not in parts.columns]
    if missing:
        raise InvalidArgument(
            f"a function with merge must give the key columns; its schema has no {missing[0]!r}"
        )
    keys = [quoted(name) for name in names]
    if in_one_pass(parts.schema, names, merge, method):
        return apply_per_group(parts.repartition(lanes, *keys), names, [], merge, schema)
    merged: DataFrame = getattr(parts.groupBy(*keys), method)(merge, schema)
    return merged


def _aggregate_columns(aggregates: tuple[Any, ...]) -> list[Column]:
    if len(aggregates) == 1 and isinstance(aggregates[0], Mapping):
        pairs = aggregates[0].items()
        return [F.expr(f"{name}({'*' if c == '*' else quoted(c)})") for c, name in pairs]
    if not aggregates or not all(isinstance(column, Column) for column in aggregates):
        raise InvalidArgument(
            "agg takes aggregate columns such as F.sum('x'), or one dictionary; got "
            f"{', '.join(map(repr, aggregates)) or 'none'}"
        )
    return list(aggregates)
