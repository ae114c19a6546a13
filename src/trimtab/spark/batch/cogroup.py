"""Two grouped frames side by side: both laid out by one plan, made from the weights of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.partitioners import Given
from trimtab.spark.batch.decision import DEFAULT_PARTITIONER, default_lanes
from trimtab.spark.groups.hidden_columns import without_columns_of_both
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.user_functions import ARROW, PANDAS, refuse_as_spark_does
from trimtab.spark.routing.route import Route, route_of


@dataclass(frozen=True, eq=False)
class CoGroupedFrame:
    """Two frames whose groups of equal keys are handed to one function."""

    left: KeyedFrame
    right: KeyedFrame
    lanes: int | None
    partitioner: Given | None
    parameters: Mapping[str, Any] | None
    histogram: Histogram | None

    def __post_init__(self) -> None:
        kinds = [[f.dataType for f in side.key.fields] for side in (self.left, self.right)]
        # Keys of other types have other hashes: Spark pairs some of them, and not others.
        if len(kinds[0]) == len(kinds[1]) and kinds[0] != kinds[1]:
            raise InvalidArgument(
                "cogroup needs keys of the same types on both sides; got "
                f"{[k.simpleString() for k in kinds[0]]} and {[k.simpleString() for k in kinds[1]]}"
            )

    def applyInPandas(  # noqa: N802 - the name PySpark users know
        self, func: Callable[..., Any], schema: T.StructType | str
    ) -> DataFrame:
        """Apply a function of both sides' rows of a key, as pandas frames, to every key.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> names = spark.sql("select 'ann' as user, 'Ann Lee' as name")
        >>> by_user = tt.group_by(clicks, "user", lanes=2)
        >>> pairs = by_user.cogroup(tt.group_by(names, "user", lanes=2))
        >>> def named(key: tuple, clicks: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
        ...     return pd.DataFrame({"user": key, "clicks": len(clicks), "known": len(names) > 0})
        >>> found = pairs.applyInPandas(named, "user string, clicks int, known boolean")
        >>> sorted(map(tuple, found.collect()))
        [('ann', 6, True), ('bob', 3, False)]
        """
        return self._apply(PANDAS, func, schema)

    def applyInArrow(  # noqa: N802 - the name PySpark users know
        self, func: Callable[..., Any], schema: T.StructType | str
    ) -> DataFrame:
        """Apply a function of both sides' rows of a key, as Arrow tables, to every key.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> names = spark.sql("select 'ann' as user, 'Ann Lee' as name")
        >>> by_user = tt.group_by(clicks, "user", lanes=2)
        >>> pairs = by_user.cogroup(tt.group_by(names, "user", lanes=2))
        >>> def sizes(clicks: pa.Table, names: pa.Table) -> pa.Table:
        ...     return pa.table({"clicks": [clicks.num_rows], "names": [names.num_rows]})
        >>> sorted(map(tuple, pairs.applyInArrow(sizes, "clicks long, names long").collect()))
        [(3, 0), (6, 1)]
        """
        return self._apply(ARROW, func, schema)

    def explain(self, *, names: str = "plain") -> str:
        """Say which partitioner is used, what it costs and what it is expected to save.

        A histogram that is given may name its keys; `names="hash"` shows their hashes instead.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 6, 'ann', 'bob') as user, id from range(9)")
        >>> names = spark.sql("select 'ann' as user, 'Ann Lee' as name")
        >>> by_user = tt.group_by(clicks, "user", lanes=2)
        >>> pairs = by_user.cogroup(tt.group_by(names, "user", lanes=2))
        >>> print(pairs.explain())
        cogroup: partitioner 'trim' on 2 lanes, 2 shuffles of the rows, keys whole
        expected max/mean 1.400; by plain hashing 2.000; at best 1.400
        ...
        """
        alone = self._why_spark_alone
        if alone:
            return f"cogroup: Spark's own: {alone}"
        return self._route().explain("cogroup", shuffles=2, names=names)

    @property
    def _why_spark_alone(self) -> str:
        """Why nothing is laid out: no key, a mistake that Spark will tell, or nothing to go by."""
        if not self.left.names or len(self.left.names) != len(self.right.names):
            return "there is no key that both sides have"
        told = (self.lanes, self.partitioner, self.parameters, self.histogram)
        if all(part is None for part in told):
            return (
                "what the function costs is not known, and cheap ones lose more by a count of both "
                "sides than they gain; give lanes, a partitioner, a plan or a histogram to have "
                "them laid out"
            )
        return ""

    def _route(self) -> Route:
        """Plan for the sum of both sides: both of a key end on one lane."""
        lanes = self.lanes or max(default_lanes(side.df) for side in (self.left, self.right))

        def planned(side: KeyedFrame, histogram: Histogram | None) -> Route:
            return route_of(
                side.df,
                side.key,
                lanes,
                self.partitioner or DEFAULT_PARTITIONER,
                split=False,
                parameters=self.parameters,
                histogram=histogram,
                # Both sides are added up: how many rows each has must not be a guess.
                count="all",
            )

        route = planned(self.left, self.histogram)
        if self.histogram is not None or route.histogram is None:
            return route
        other = planned(self.right, None).histogram
        return route if other is None else planned(self.left, route.histogram.merge(other))

    def _apply(
        self, method: str, func: Callable[..., Any], schema: T.StructType | str
    ) -> DataFrame:
        refuse_as_spark_does(func, schema, method, frames=2)
        if self._why_spark_alone:
            pair = self.left.by_spark.cogroup(self.right.by_spark)
            by_spark: DataFrame = getattr(pair, method)(func, schema)
            return by_spark
        route = self._route()
        grouped, hidden = [], []
        for side in (self.left, self.right):
            lane = side.spare("lane")
            laid_out = route.laid_out(side.df, side.hash, lane)
            grouped.append(laid_out.groupBy(lane, *side.grouping))
            hidden.append([lane, *side.added])
        inner = without_columns_of_both(func, hidden[0], hidden[1])
        result: DataFrame = getattr(grouped[0].cogroup(grouped[1]), method)(inner, schema)
        return result
