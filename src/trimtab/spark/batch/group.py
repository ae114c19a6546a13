"""Grouping without stragglers: the shape of Spark's own calls, one shuffle by a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import types as T

from trimtab._checks import lanes_or_auto, one_of
from trimtab.errors import InvalidArgument
from trimtab.histogram import Histogram
from trimtab.partitioners import Given
from trimtab.spark.batch.aggregates import (
    WORTH_MOVING,
    aggregate_columns,
    any_grows,
    combines,
    refuse_unsplittable,
)
from trimtab.spark.batch.cogroup import CoGroupedFrame
from trimtab.spark.batch.decision import (
    DEFAULT_PARTITIONER,
    HASH,
    PLAN,
    Decision,
    decide_function,
    default_lanes,
)
from trimtab.spark.batch.fewer_partitions import fewer_for_groups
from trimtab.spark.batch.grouped_shorthands import GroupedShorthands
from trimtab.spark.batch.key_plan import GivenPlan, KnownHistogram, known_histogram, known_plan
from trimtab.spark.batch.run_report import note_run
from trimtab.spark.columns import Keys, takes_every_column
from trimtab.spark.counting.heads import Heads
from trimtab.spark.counting.session_machines import clock_of
from trimtab.spark.counting.timed import Learned, timed
from trimtab.spark.groups.keyed_frame import KeyedFrame
from trimtab.spark.groups.on_lanes import apply_on_lanes, merge_parts
from trimtab.spark.groups.user_functions import ARROW, PANDAS, refuse_as_spark_does
from trimtab.spark.routing.route import COUNTS, Route, route_of

if TYPE_CHECKING:
    from pyspark.sql import GroupedData, SparkSession
    from pyspark.sql.pandas.group_ops import PandasCogroupedOps

_NAME_ONE = "name a partitioner to lay the rows out anyway"


def group_by(
    df: DataFrame,
    *keys: Keys | int,
    lanes: int | str | None = "auto",
    partitioner: Given | None = None,
    parameters: Mapping[str, Any] | None = None,
    learn: bool = False,
    histogram: KnownHistogram | None = None,
    plan: GivenPlan | None = None,
    count: str = "auto",
    pilot: bool = True,
) -> GroupedFrame:
    """Group `df` by its key columns, as `df.groupBy(*keys)` does, on level lanes.

    What it returns has every verb of Spark's `GroupedData`. Those that a layout cannot help are
    left to Spark, and so are a stream and a grouping without keys. Unless a partitioner, lanes, a
    plan or a histogram is given, it decides first whether to count the keys at all: `explain` says
    what was decided, from which figures, and what would change it.

    Parameters
    ----------
    df
        The frame. Where its keys are counted it is read once more: cache what is costly to make.
    keys
        Key columns, by name, as expressions or by ordinal from 1 on; or a list of them.
    lanes
        Number of lanes; "auto" makes as many as there are task slots, twice as many where nothing
        is counted, and more where the frame has more than 128 MB for each, or where earlier runs of
        the session have shown that machines differ.
    partitioner, parameters
        Registry name with the parameters of the class it names, or a planner, router or plan.
        Functions of a whole group need one that keeps keys whole; `agg`, and a function that
        brings a merge, also take one that splits. By default `trim` where counting the keys is
        expected to pay, and else a hash; and Spark's own plan for every `agg`, in fewer tasks or
        on fewer partitions where the session has far too many for the frame.
    learn
        Whether `applyInPandas` and `applyInArrow` also measure the seconds each key takes.
    histogram
        What is known of the keys, or the file it was saved to; nothing is counted then.
    plan
        A plan of an earlier run: what `plan_keys` gave, or the file it was saved to. It is checked
        against the first rows, and made anew, with a warning, if they do not fit it.
    count
        Whether "all" rows are counted, or only the "first" ones; see `repartition`. With either,
        keys are planned for in any case.
    pilot
        Whether a function may first be called with a few of the first rows, in a task of its own,
        to see what a row costs; what it gives is thrown away. Switch it off for a function that
        must not see a group twice, or not in part.

    Examples
    --------
    >>> clicks = spark.sql("select if(id < 60, 'ann', 'user ' || id) as user, id from range(100)")
    >>> grouped = tt.group_by(clicks, "user", lanes=4)
    >>> grouped.count().orderBy(F.desc("count")).first()
    Row(user='ann', count=60)
    """
    given: Any = keys[0] if len(keys) == 1 and isinstance(keys[0], list | tuple) else keys
    keyed = KeyedFrame.by(df, given)
    one_of("count", count, COUNTS)
    number = lanes_or_auto(lanes)
    if plan is not None:
        if partitioner is not None or parameters is not None or histogram is not None:
            raise InvalidArgument(
                "a plan says where every key goes; leave partitioner, parameters and histogram out"
            )
        known = known_plan(plan, keyed.df, keyed.key)
        return GroupedFrame(keyed, number, known.plan, None, learn, known.histogram, pilot)
    weights = known_histogram(histogram)
    return GroupedFrame(keyed, number, partitioner, parameters, learn, weights, pilot, count)


class GroupedFrame(GroupedShorthands):
    """A frame grouped by its keys; nothing runs until a function or an aggregate is given."""

    def __init__(
        self,
        keyed: KeyedFrame,
        lanes: int | None = None,
        partitioner: Given | None = None,
        parameters: Mapping[str, Any] | None = None,
        learn: bool = False,
        histogram: Histogram | None = None,
        pilot: bool = True,
        count: str = "auto",
    ) -> None:
        self._keyed = keyed
        self._count = count
        # A partitioner that is an object was made for its own number of lanes.
        self._lanes: int | None = lanes or getattr(partitioner, "lanes", None)
        self._pilot = pilot
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
        keyed = self._keyed
        columns = aggregate_columns(keyed.given, self._by_spark, aggregates)
        if not self._is_told:
            few = fewer_for_groups(keyed, columns)
            return (keyed.by_spark if few is None else few.grouped(keyed)).agg(*aggregates)
        route = self._aggregated(columns)[0]
        if route is None:
            return self._by_spark.agg(*aggregates)
        lane = keyed.spare("lane")
        laid_out = route.laid_out(keyed.df, keyed.hash, lane)
        if not route.splits_keys:
            return laid_out.groupBy(lane, *keyed.grouping).agg(*columns).drop(lane)
        merged = laid_out.groupBy(*keyed.grouping).agg(*columns)
        refuse_unsplittable(merged)
        return merged

    def cogroup(self, other: GroupedFrame | GroupedData) -> CoGroupedFrame | PandasCogroupedOps:
        """Pair the groups of two frames that have equal keys; by Spark if one is grouped by it.

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
        if isinstance(other, type(self._by_spark)):
            return self._by_spark.cogroup(other)
        if not isinstance(other, GroupedFrame):
            raise InvalidArgument(
                "cogroup takes what trimtab.spark.group_by or DataFrame.groupBy gives; got "
                f"{type(other).__name__}"
            )
        if self._lanes != other._lanes:
            raise InvalidArgument(
                f"cogroup needs the same lanes on both sides; got {self._lanes} and {other._lanes}"
            )
        return CoGroupedFrame(
            self._keyed,
            other._keyed,
            self._lanes,
            self._partitioner,
            self._parameters,
            self._histogram,
        )

    def explain(self, *of: Any, names: str = "plain") -> str:
        """Say what is decided, from which figures, and what it would take to change that.

        With aggregates this is about `agg`; with a function, as `applyInPandas` takes it, about
        that function, for which a pilot may run; with nothing, about any function.
        A histogram that is given may name its keys; `names="hash"` shows their hashes instead.

        Examples
        --------
        >>> clicks = spark.sql("select if(id < 60, 'ann', 'u' || id) as user, id from range(100)")
        >>> grouped = tt.group_by(clicks, "user", lanes=4)
        >>> print(grouped.explain())
        group_by: partitioner 'trim' on 4 lanes, 1 shuffle of the rows, keys whole
        ...
        >>> print(grouped.explain(F.sum("id")))
        group_by: Spark's own aggregation, 1 shuffle: it combines a key's rows before they move, ...
        >>> print(tt.group_by(clicks, "user").explain(lambda rows: rows.head(1)))
        group_by: partitioner 'trim' on ... lanes, 1 shuffle of the rows, keys whole
        ...
        """
        alone = self._why_spark_alone()
        if alone is not None:
            return f"group_by: Spark's own: {alone}"
        if not of or (callable(of[0]) and not isinstance(of[0], Column)):
            decision = self._decided(PANDAS, of[0] if of else None)
            words = self._function_route(decision).explain("group_by", shuffles=1, names=names)
            return f"{words}\nwhy: {decision}"
        columns = aggregate_columns(self._keyed.given, self._by_spark, of)
        route, reason = self._aggregated(columns)
        if route is None:
            few = None if self._is_told else fewer_for_groups(self._keyed, columns)
            how = "1 shuffle" if few is None else few.words(self.session)
            return f"group_by: Spark's own aggregation, {how}: {reason}"
        return route.explain("group_by", 2 if route.splits_keys else 1, names)

    @property
    def session(self) -> SparkSession:
        """The session of the frame."""
        return self._rows.sparkSession

    @property
    def _rows(self) -> DataFrame:
        return self._keyed.given

    @property
    def _by_spark(self) -> GroupedData:
        return self._keyed.by_spark

    @property
    def _asks_for_layout(self) -> bool:
        return self._partitioner is not None or self._parameters is not None

    @property
    def _is_told(self) -> bool:
        """Whether the caller has said anything of the layout: nothing is decided for him."""
        told = self._lanes is not None or self._histogram is not None or self._count != "auto"
        return told or self._asks_for_layout

    def _why_spark_alone(self) -> str | None:
        """Say why no verb can lay out these rows; None if there is no such reason."""
        if not self._keyed.names:
            return "there is no key, so all rows are one group"
        if self._rows.isStreaming:
            return "the rows of a stream cannot be counted; trimtab.spark.stream lays them out"
        return None

    def _aggregated(self, aggregates: list[Column]) -> tuple[Route | None, str]:
        """Return how rows are laid out for aggregates; or None, why not, and what it would take."""
        alone = self._why_spark_alone()
        if alone is not None:
            return None, alone
        keyed = self._keyed
        if any(takes_every_column(keyed.given, one) for one in aggregates):
            return None, (
                "an aggregate is of all columns (*), of which those of a layout would be; name the "
                "columns to have the rows laid out"
            )
        if self._asks_for_layout:
            return self._route(split=True), ""
        plain = keyed.df.groupBy(*keyed.grouping).agg(*aggregates)
        if combines(aggregates, plain):
            return None, (
                f"it combines a key's rows before they move, so that no key is hot; {_NAME_ONE}"
            )
        if not self._is_told:
            return None, (
                "a hot key's values are put together in one place in any case, and rows that move "
                f"before they are combined cost more than lanes that are level gain; {_NAME_ONE}"
            )
        route = self._route(split=False)
        gain = route.gain()
        if any_grows(aggregates) and gain < WORTH_MOVING:
            return None, (
                f"by plain hashing the fullest lane holds {gain:.2f} times as much as by a plan, "
                f"and rows that move before they are listed pay from {WORTH_MOVING} on; {_NAME_ONE}"
            )
        return route, ""

    def _decided(
        self, method: str, func: Callable[..., Any] | None, may_split: bool = False
    ) -> Decision:
        """Decide how a function of groups is laid out, if nobody has said it."""
        if self._is_told:
            return Decision(PLAN, "a partitioner, lanes, a plan, a histogram or count= was given")
        if self._learn:
            return Decision(HASH, "learn=True measures keys wherever they are")
        return decide_function(
            self._keyed, method, func, may_pilot=self._pilot, may_split=may_split
        )

    def _function_route(self, decision: Decision, split: bool = False) -> Route:
        if decision.way == PLAN:
            return self._route(split, decision.heads)
        keyed = self._keyed
        lanes = default_lanes(keyed.df, decision.lanes_per_slot)
        return route_of(keyed.df, keyed.key, lanes, HASH, split=False)

    def _route(self, split: bool, heads: Heads | None = None) -> Route:
        keyed = self._keyed
        return route_of(
            keyed.df,
            keyed.key,
            self._lanes or default_lanes(keyed.df),
            self._partitioner or DEFAULT_PARTITIONER,
            split=split,
            parameters=self._parameters,
            histogram=self._histogram,
            count=self._count,
            heads=heads,
        )

    def _apply(
        self,
        method: str,
        func: Callable[..., Any],
        schema: T.StructType | str,
        merge: Callable[..., Any] | None,
    ) -> DataFrame | Learned:
        for function in (func,) if merge is None else (func, merge):
            refuse_as_spark_does(function, schema, method)
        if self._learn and merge is not None:
            raise InvalidArgument("learn=True times whole keys; leave merge out")
        alone = self._why_spark_alone()
        if alone is not None:
            if self._learn:
                raise InvalidArgument(f"learn=True times keys on lanes; {alone}")
            # Groups are whole, so that there is nothing to merge.
            by_spark: DataFrame = getattr(self._by_spark, method)(func, schema)
            return by_spark
        split = merge is not None
        route = self._function_route(self._decided(method, func, split), split)
        keyed = self._keyed
        if self._learn:
            hashed = keyed.spare("hash")
            rows = keyed.df.select("*", keyed.hash.alias(hashed))
            applied = partial(apply_on_lanes, keyed, route, rows, method)
            return timed(applied, func, schema, method, hashed, [hashed, *keyed.added])
        clock = clock_of(self.session)
        result = apply_on_lanes(keyed, route, keyed.df, method, func, schema, keyed.added, clock)
        if merge is None or not route.splits_keys:
            note_run(result, clock, route.lanes, route.plan, route.histogram)
            return result
        return merge_parts(result, keyed.key.names, route.lanes, method, merge, schema)
